#!/bin/bash
# Installs the Debian packages that a task needs and that are missing.
#
#   tools/packages.sh build|check|suites|hosts|bench|diagrams
#   tools/packages.sh unpack DIR PACKAGE...   without installing them, with all that they need and that is missing
#
# Says nothing when all are there.  Without the right to install it prints the command to run.
set -euo pipefail

build=(gcc libc6-dev linux-libc-dev make meson musl-tools ninja-build pkg-config python3
    libcyaml-dev libexpat1-dev libjansson-dev libmicrohttpd-dev libmnl-dev libnftnl-dev libnghttp2-dev
    libseccomp-dev libsodium-dev libsqlite3-dev libssl-dev libwslay-dev libyaml-dev)
check=("${build[@]}" bash bats bubblewrap busybox-static bzip2 chafa clang clang-format clang-tidy cpio cppcheck crun curl docker-registry g++ gcovr gdb git
    iproute2 libclang-rt-14-dev libcmocka-dev openssl procps prometheus python3-jsonschema
    python3-matplotlib python3-nbformat python3-numpy python3-pandas python3-pil python3-pyte python3-pytest python3-requests python3-setuptools python3-wheel python3-yaml qemu-system-x86 runc
    shellcheck skopeo strace tmux util-linux xz-utils zstd)
# Debian's `check` is a library for tests in C.
suites=("${check[@]}" autoconf automake check chromium cmake dpkg-dev libmodule-build-perl libtest-deep-perl libtest-exception-perl
    libtest-fatal-perl libtool lua-busted phpunit r-cran-testthat ruby-minitest ruby-rspec)
hosts=("${check[@]}" apparmor docker.io gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap podman
    qemu-system-arm)
bench=("${build[@]}" bubblewrap crun iproute2 python3-jupyter-client runc)
diagrams=(graphviz)

# Toolchains: a package, then where its tool may be from elsewhere.  A vendor's Node brings npm along and
# conflicts with Debian's.  What lies in a home directory does not count: tests are also run by a
# user who cannot see it.
toolchains=(
    'cargo /usr/bin/cargo /usr/local/bin/cargo'
    'default-jdk-headless /usr/lib/jvm/default-java/bin/javac /usr/lib/jvm/*-1[7-9]-*/bin/javac
        /usr/lib/jvm/*-[2-9][0-9]-*/bin/javac'
    'g++ /usr/bin/g++'
    'golang-go /usr/local/go/bin/go /usr/lib/go*/bin/go'
    'composer /usr/bin/composer /usr/local/bin/composer'
    'cpanminus /usr/bin/cpanm /usr/local/bin/cpanm'
    'lua5.4 /usr/bin/lua5.4'
    'luarocks /usr/bin/luarocks /usr/local/bin/luarocks'
    'maven /usr/bin/mvn /usr/share/maven*/bin/mvn'
    'nodejs /usr/bin/node /usr/local/bin/node'
    'npm /usr/bin/npm /usr/local/bin/npm'
    'perl /usr/bin/perl'
    'php-cli /usr/bin/php /usr/bin/php[0-9]*'
    'postgresql /usr/lib/postgresql/*/bin/postgres'
    'python3-pip /usr/lib/python3/dist-packages/pip'
    'r-base-core /usr/bin/Rscript'
    'ruby /usr/bin/ruby'
    'rustc /usr/bin/rustc /usr/local/bin/rustc'
    'sqlite3 /usr/bin/sqlite3'
    'tcl /usr/bin/tclsh /usr/bin/tclsh[0-9]*'
    'zsh /usr/bin/zsh /usr/local/bin/zsh'
)

die() {
    printf 'packages.sh: %s\n' "$1" >&2
    shift
    (($# == 0)) || printf '    %s\n' "$@" >&2
    exit 1
}

any_exists() {
    local path
    for path; do
        [[ ! -e $path ]] || return 0
    done
    return 1
}

# Adds what is not there to `wanted`.
want_toolchains() {
    local row package places
    for row in "${toolchains[@]}"; do
        read -r -d '' package places <<<"$row" || true
        # shellcheck disable=SC2086 # patterns, to be split and expanded
        any_exists $places || wanted+=("$package")
    done
}

# For what must not be on the host: IPython, for one, would change what a Python session is.
unpack() {
    local dir=$1 archive
    [[ ! -e $dir/usr ]] || return 0
    mkdir -p "$dir/archives/partial"
    apt-get -q -y -o Debug::NoLocking=1 -o Dir::Cache::archives="$dir/archives" --no-install-recommends \
        --download-only install "${@:2}" </dev/null >"$dir/log" 2>&1 || die "could not fetch ${*:2}" "see $dir/log"
    for archive in "$dir"/archives/*.deb; do
        [[ ! -e $archive ]] || dpkg-deb -x "$archive" "$dir"
    done
}

if [[ ${1-} == unpack ]]; then
    (($# > 2)) || die 'usage: tools/packages.sh unpack DIR PACKAGE...'
    unpack "${@:2}"
    exit
fi

# A chroot may lack them, and without them neither packages nor sandboxes work.
[[ -e /proc/self ]] || die '/proc is not mounted; as root: mount -t proc proc /proc'
[[ -c /dev/null && -e /dev/fd ]] || die '/dev is not there; as root, outside of this directory: mount --bind /dev DIR/dev'

case "${1-}" in
build) wanted=("${build[@]}") ;;
check) wanted=("${check[@]}") && want_toolchains ;;
suites) wanted=("${suites[@]}") && want_toolchains ;;
hosts) wanted=("${hosts[@]}") && want_toolchains ;;
bench) wanted=("${bench[@]}") && want_toolchains ;;
diagrams) wanted=("${diagrams[@]}") ;;
*) die 'usage: tools/packages.sh build|check|suites|hosts|bench|diagrams' ;;
esac

# Elsewhere the names differ; the build itself then says what it lacks.
command -v dpkg-query >/dev/null || exit 0

# "ii" is wanted and installed; a name appears once per architecture, possibly in several states.
declare -A have=()
while read -r state name; do
    [[ $state == ?i ]] && have[$name]=1
done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)

missing=()
for name in "${wanted[@]}"; do
    [[ -n ${have[$name]-} ]] || missing+=("$name")
done
((${#missing[@]})) || exit 0

by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null ||
        die 'packages are missing and this user cannot install them; run as root:' "$by_hand"
    as_root=(sudo)
    # Nobody is there to type a password.
    [[ -t 0 && -t 2 ]] || as_root+=(-n)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}

install_missing() {
    apt install --no-install-recommends "${missing[@]}"
}

# The tests start servers of their own; the package would make one for the machine, and start it.
no_cluster=/etc/postgresql-common/createcluster.d/sandbox-run.conf
without_cluster() {
    if [[ " ${missing[*]} " != *' postgresql '* ]]; then
        "$@"
        return
    fi
    "${as_root[@]}" mkdir -p "${no_cluster%/*}"
    "${as_root[@]}" tee "$no_cluster" <<<'create_main_cluster = false' >/dev/null
    local status=0
    "$@" || status=$?
    "${as_root[@]}" rm -f "$no_cluster"
    "${as_root[@]}" rmdir --ignore-fail-on-non-empty "${no_cluster%/*}"
    return "$status"
}

printf 'installing %s\n' "${missing[*]}" >&2
((EUID == 0)) || "${as_root[@]}" -v || die 'sudo was refused; run as root:' "$by_hand"
# Package lists may be absent or name versions that are gone: fetch them only when that shows.
if ! without_cluster install_missing && ! { apt update && without_cluster install_missing; }; then
    cat "$log" >&2
    die 'could not install the packages; to try by hand:' "$by_hand"
fi
