#!/bin/sh
# musl-build.sh OUTPUT DEPFILE SRC_DIR [OPTION...] -- FILE...
# Compiles and links one static, position-independent program with musl, which starts three times
# faster than one with glibc: Meson knows one C compiler per machine, so this is a script.
# Writes the headers that were read as a depfile.
set -eu
output=$1 depfile=$2 src=$3
shift 3
options=
while [ "$1" != -- ]; do
    options="$options $1"
    shift
done
shift

multiarch=$(gcc -print-multiarch)
crt=/usr/lib/$(echo "$multiarch" | sed 's/gnu$/musl/')
# Kernel headers stand behind musl's own.
flags="-std=gnu17 -O2 -fPIE -Wall -Wextra -Wshadow -Werror -D_GNU_SOURCE -ffunction-sections
    -fdata-sections -fno-asynchronous-unwind-tables
    -fstack-protector-strong -fstack-clash-protection -I$src -I$src/../include
    -idirafter /usr/include -idirafter /usr/include/$multiarch $options"
case $multiarch in x86_64-*) flags="$flags -fcf-protection" ;; esac
objects=$output.objects
rm -rf "$objects"
mkdir -p "$objects"

number=0
# shellcheck disable=SC2016 # the inner shell expands it
for file in "$@"; do
    number=$((number + 1))
    printf '%s %s\n' "$file" "$objects/$number.o"
done | xargs -P "$(nproc)" -L 1 sh -c \
    'exec musl-gcc $0 -MMD -MT "$1" -c "$2" -o "$3"' "$flags" "$output"
cat "$objects"/*.d >"$depfile"
musl-gcc -static -nostartfiles -o "$output" "$crt/rcrt1.o" "$crt/crti.o" "$objects"/*.o "$crt/crtn.o" \
    -Wl,-pie -Wl,--no-dynamic-linker -Wl,-z,text -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now \
    -Wl,-z,noexecstack -Wl,-z,noseparate-code -s
rm -rf "$objects"
