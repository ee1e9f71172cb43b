/* Commands of test runners that take more than one program: they build what is to be tested, run
 * the tests, and leave a report in `report`, which src/work/test_runner.c defines as REPORT. */
#ifndef WORK_TEST_SCRIPTS_H
#define WORK_TEST_SCRIPTS_H

/* Every assertion of each file is a case of that file; a file that fails without one is a case. */
#define TEST_SCRIPT_PROVE(report)                                                                  \
    "{ if [ -f Build.PL ]; then perl Build.PL && ./Build; "                                        \
    "elif [ -f Makefile.PL ]; then perl Makefile.PL && make; fi; } < /dev/null >&2 || exit; "      \
    "[ $# -gt 0 ] || { find t -name '*.t' | LC_ALL=C sort > ${TMPDIR:-/tmp}/files; "               \
    "set -- $(cat ${TMPDIR:-/tmp}/files); }; worst=0; : > " report "; "                            \
    "for file; do taint=$(sed -n '1s/^#!.*perl.* -[a-zA-Z]*\\([tT]\\).*/-\\1/p' $file); "          \
    "perl $taint -Iblib/lib -Iblib/arch -Ilib $file > ${TMPDIR:-/tmp}/tap < /dev/null; "           \
    "status=$?; [ $status = 0 ] || worst=1; "                                                      \
    "awk -v file=$file -v status=$status '"                                                        \
    "/^(not )?ok( |$)/ { n++; bad = /^not/; if (bad && !/# *TODO/) failed++; "                     \
    "sub(/^(not )?ok */, \"\"); sub(/^[0-9]+ */, \"\"); sub(/^- */, \"\"); "                       \
    "print (bad ? \"not ok \" : \"ok \") n \" - \" file \": \" ($0 == \"\" ? n : $0); next } "     \
    "/^1\\.\\.0/ { n++; print \"ok 1 - \" file \" # SKIP\" } "                                     \
    "/^#/ { print } "                                                                              \
    "END { if (status && !failed) print \"not ok 0 - \" file }' "                                  \
    "${TMPDIR:-/tmp}/tap >> " report "; done; exit $worst"

/* Automake writes the result of each test to a file of its own. */
#define TEST_SCRIPT_AUTOMAKE(report)                                                               \
    "{ [ -x configure ] || autoreconf -fi; [ -f Makefile ] || ./configure; } < /dev/null >&2 "     \
    "|| exit; find . -name '*.trs' -exec rm -f {} +; make -k check \"$@\" >&2; status=$?; "        \
    "find . -name '*.trs' | LC_ALL=C sort | while read -r file; do "                               \
    "awk -v file=\"${file#./}\" '/^:test-result:/ { bad = /result: *X?(FAIL|ERROR|XPASS)/ && "     \
    "!/XFAIL/; skip = /result: *SKIP/; sub(/^:test-result: *[A-Z]+ */, \"\"); "                    \
    "sub(/\\.trs$/, \"\", file); print (bad ? \"not ok \" : \"ok \") ++n \" - \" file "            \
    "($0 == \"\" ? \"\" : \": \" $0) (skip ? \" # SKIP\" : \"\") }' \"$file\"; "                   \
    "done > " report "; exit $status"

#define TEST_SCRIPT_CTEST(report)                                                                  \
    "at=${TMPDIR:-/tmp}/build; { cmake -S . -B $at -DBUILD_TESTING=ON && cmake --build $at -j 2; " \
    "} >&2 || exit; ctest --test-dir $at --output-on-failure --output-junit " report " \"$@\" >&2"

#define TEST_SCRIPT_MESON(report)                                                                  \
    "at=${TMPDIR:-/tmp}/build; meson setup $at . >&2 && meson compile -C $at >&2 || exit; "        \
    "meson test -C $at --no-rebuild \"$@\" >&2; status=$?; "                                       \
    "cp $at/meson-logs/testlog.junit.xml " report "; exit $status"

#define TEST_SCRIPT_RSPEC(report)                                                                  \
    "rspec -Ilib --format progress --format json --out ${TMPDIR:-/tmp}/rspec \"$@\" >&2; "         \
    "status=$?; ruby -rjson -e 'JSON.parse(File.read(ARGV[0]))[\"examples\"]."                     \
    "each_with_index { |e, i| puts \"#{e[\"status\"] == \"failed\" ? \"not \" : \"\"}ok #{i + 1} " \
    "- #{e[\"full_description\"].tr(\"\\n#\", \" .\")}"                                            \
    "#{e[\"status\"] == \"pending\" ? \" # SKIP\" : \"\"}\"; "                                     \
    "m = e.dig(\"exception\", \"message\"); m.each_line { |l| puts \"# \" + l } if m }' "          \
    "${TMPDIR:-/tmp}/rspec > " report "; exit $status"

#define TEST_SCRIPT_MINITEST(report)                                                               \
    "ruby -Ilib -Itest -e 'Dir[\"test/**/{test_*,*_test}.rb\"].sort.each { |f| "                   \
    "require File.expand_path(f) }' -- -v \"$@\" > ${TMPDIR:-/tmp}/minitest; status=$?; "          \
    "cat ${TMPDIR:-/tmp}/minitest >&2; "                                                           \
    "awk '/ = [0-9.]+ s = [.FES]$/ { end = $NF; sub(/ = [0-9.]+ s = [.FES]$/, \"\"); "             \
    "print (end ~ /[FE]/ ? \"not ok \" : \"ok \") ++n \" - \" $0 "                                 \
    "(end == \"S\" ? \" # SKIP\" : \"\") }' ${TMPDIR:-/tmp}/minitest > " report "; exit $status"

#define TEST_SCRIPT_PHPUNIT(report)                                                                \
    "tool=$(ls vendor/bin/phpunit ${DEPS:-/deps}/vendor/bin/phpunit $(command -v phpunit) "        \
    "2> /dev/null | head -n 1); [ \"$tool\" ] || { echo 'there is no phpunit: add it to "          \
    "require-dev of composer.json' >&2; exit 1; }; php $tool --log-junit " report " \"$@\""

#endif
