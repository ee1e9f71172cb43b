#!/bin/sh
# coverage.sh BUILD [ARGUMENT...]: runs the tests on a coverage build.
# Counters are written by ordinary users and from inside the sandbox too, so every file of them exists
# beforehand and is open to all.
set -eu
build=$(realpath "$1")
shift
find "$build" -type d -exec chmod a+rwx {} +
find "$build" -name '*.gcno' | while read -r notes; do
    counters=${notes%.gcno}.gcda
    : >"$counters"
    chmod a+rw "$counters"
done
umask 0
SANDBOX_RUN_TEST_WRITABLE=$build
export SANDBOX_RUN_TEST_WRITABLE
# What is counted, not what passes: profiling changes what programs write.
/usr/bin/python3 tests/run.py --suite unit --suite golden --suite blackbox --suite escape --suite warm --build "$build" \
    --test-build "$build" "$@" >"$build/tests.log" 2>&1 || true
tail -n 1 "$build/tests.log"
