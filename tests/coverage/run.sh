#!/bin/sh
# run.sh BUILD [ARGUMENT...]: runs the tests on a coverage build.
# Counters are written by ordinary users too, so every file of them exists beforehand and is open to all.  Init and
# egress, which are confined, count in a file that all their processes share (counters.c), and write it out at the end.
set -eu
build=$(realpath "$1")
shift
umask 0
find "$build" -type d -exec chmod a+rwx {} +
find "$build" -name '*.gcno' | while read -r notes; do
    : >"${notes%.gcno}.gcda"
    chmod a+rw "${notes%.gcno}.gcda"
done
for name in init egress publish; do
    : >"$build/$name.counters"
    chmod a+rw "$build/$name.counters"
done
# What is counted, not what passes: profiling changes what programs write.
/usr/bin/python3 tests/run.py --suite unit --suite golden --suite blackbox --suite escape --suite warm --build "$build" \
    --test-build "$build" "$@" >"$build/tests.log" 2>&1 || true
for name in init egress publish; do
    COUNTERS_DUMP=1 "$build/src/$name/sandbox-run-$name"
done
tail -n 1 "$build/tests.log"
