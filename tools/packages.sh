#!/bin/bash
# Installs the Debian packages that a task needs and that are missing.
#
#   tools/packages.sh build|check|hosts|bench
#
# Says nothing when all are there.  Without the right to install it prints the command to run.
set -euo pipefail

build=(gcc libc6-dev linux-libc-dev make meson musl-tools ninja-build pkg-config python3
    libcyaml-dev libjansson-dev libseccomp-dev libyaml-dev)
check=("${build[@]}" bash bubblewrap clang clang-format clang-tidy cpio cppcheck g++ gcovr
    iproute2 libclang-rt-14-dev libcmocka-dev procps python3-pytest python3-yaml qemu-system-x86 runc
    shellcheck strace util-linux)
hosts=("${check[@]}" crun docker.io gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap podman
    qemu-system-arm)
bench=("${build[@]}" bubblewrap crun runc)

die() {
    printf 'packages.sh: %s\n' "$1" >&2
    shift
    (($# == 0)) || printf '    %s\n' "$@" >&2
    exit 1
}

case "${1-}" in
build) wanted=("${build[@]}") ;;
check) wanted=("${check[@]}") ;;
hosts) wanted=("${hosts[@]}") ;;
bench) wanted=("${bench[@]}") ;;
*) die 'usage: tools/packages.sh build|check|hosts|bench' ;;
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

printf 'installing %s\n' "${missing[*]}" >&2
((EUID == 0)) || "${as_root[@]}" -v || die 'sudo was refused; run as root:' "$by_hand"
# Package lists may be absent or name versions that are gone: fetch them only when that shows.
if ! install_missing && ! { apt update && install_missing; }; then
    cat "$log" >&2
    die 'could not install the packages; to try by hand:' "$by_hand"
fi
