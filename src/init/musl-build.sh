#!/bin/sh
# musl-build.sh COMPILER OUTPUT DEPFILE SRC_DIR [OPTION...] -- FILE...
# Compiles and links sandbox-run-init in one go, and writes the headers it read as a depfile.
set -eu
compiler=$1 output=$2 depfile=$3 src=$4
shift 4
options=
while [ "$1" != -- ]; do
    options="$options $1"
    shift
done
shift
flags="-std=gnu17 -O2 -Wall -Wextra -Wshadow -Werror -static -ffunction-sections -fdata-sections
    -fno-asynchronous-unwind-tables -fstack-protector-strong -I$src -I$src/../include"
# shellcheck disable=SC2086 # lists of options are meant to be split
"$compiler" $flags $options -MM -MT "$output" "$@" >"$depfile"
# shellcheck disable=SC2086
"$compiler" $flags $options -o "$output" "$@" \
    -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -s
