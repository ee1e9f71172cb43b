#!/bin/sh
# cpp-prepare.sh COMPILER DIRECTORY FLAG...: precompiled headers for g++ -IDIRECTORY.
#
# Made from a file that includes the header, because the header itself would no longer be a system
# header.  A failure is not an error: compiling is slower without them, but correct.
compiler=$1
directory=$2
shift 2

case $("$compiler" --version) in
*clang*) exit 0 ;;
esac

make_header() {
    wrapper=${TMPDIR:-/tmp}/$(echo "$1" | tr / -).hpp
    echo "#include <$1>" > "$wrapper"
    shift
    "$compiler" "$@" -x c++-header -o "$directory/$header.gch" "$wrapper" || rm -f "$directory/$header.gch"
}

mkdir -p "$directory/bits"
for header in iostream bits/stdc++.h; do
    make_header "$header" "$@" &
done
wait
