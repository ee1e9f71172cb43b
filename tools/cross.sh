#!/bin/sh
# cross.sh ARCH SYSROOT DIR
# Writes what Meson needs to build for another architecture with Debian's cross compiler: a cross
# file, and a musl compiler for the programs on the run path.  SYSROOT is a Debian tree of that
# architecture with libc6-dev, libexpat1-dev, libjansson-dev and musl-dev, for example by
# `mmdebstrap --arch=arm64 --variant=extract --include=... bookworm SYSROOT`.  Then:
#   meson setup build-ARCH --cross-file DIR/cross.ini -Dinit_libc=musl
set -eu
arch=$1 sysroot=$2 dir=$3
mkdir -p "$dir"
musl=$sysroot/usr/lib/$arch-linux-musl

# Debian's file of the target names paths of a machine of its own.
sed "s|/usr/lib/$arch-linux-musl|$musl|g; s|/usr/include/$arch-linux-musl|$sysroot/usr/include/$arch-linux-musl|g" \
    "$musl/musl-gcc.specs" >"$dir/musl.specs"
printf '#!/bin/sh\nexec %s-linux-gnu-gcc "$@" -specs %s\n' "$arch" "$dir/musl.specs" >"$dir/musl-gcc"
chmod +x "$dir/musl-gcc"

cat >"$dir/cross.ini" <<INI
[binaries]
c = '$arch-linux-gnu-gcc'
ar = '$arch-linux-gnu-ar'
strip = '$arch-linux-gnu-strip'
pkgconfig = 'pkg-config'
musl-gcc = '$dir/musl-gcc'

[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$sysroot/usr/lib/$arch-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '$arch'
cpu = '$arch'
endian = 'little'
INI
