#!/bin/sh
# run.sh BUILD [ARGUMENT...]: runs the tests on a coverage build.
# Counters are written by ordinary users too, so every file of them exists beforehand and is open to all.  The programs
# are confined or killed: all processes of one count in a file that they share (counters.c), written out at the end.
set -eu
build=$(realpath "$1")
shift
umask 0
find "$build" -type d -exec chmod a+rwx {} +
find "$build" -name '*.gcno' | while read -r notes; do
    : >"${notes%.gcno}.gcda"
    chmod a+rw "${notes%.gcno}.gcda"
done
programs='init egress publish front http full'
for name in $programs; do
    : >"$build/$name.counters"
    chmod a+rw "$build/$name.counters"
done
# What is counted, not what passes: profiling changes what programs write.
/usr/bin/python3 tests/run.py --suite unit --suite golden --suite blackbox --suite escape --suite warm --build "$build" \
    --test-build "$build" "$@" >"$build/tests.log" 2>&1 || true
for name in $programs; do
    program=$(find "$build" -type f -name "sandbox-run-$name" | head -n 1)
    COUNTERS_DUMP=1 "${program:-$build/sandbox-run}" # without musl, the full one has the plain name
done
tail -n 1 "$build/tests.log"
