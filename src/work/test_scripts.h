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
    "print (bad ? \"not ok \" : \"ok \") n \" - \" file \": \" (/^(#|$)/ ? n \" \" $0 : $0); "     \
    "next } "                                                                                      \
    "/^1\\.\\.0/ { n++; print \"ok 1 - \" file \" # SKIP\" } "                                     \
    "/^#/ { print } "                                                                              \
    "END { if (status && !failed) print \"not ok 0 - \" file }' "                                  \
    "${TMPDIR:-/tmp}/tap >> " report "; done; exit $worst"

/* Automake writes the result of each test to a file of its own; an old one only prints them. */
#define TEST_SCRIPT_AUTOMAKE(report)                                                               \
    "{ [ -x configure ] || autoreconf -fi; [ -f Makefile ] || ./configure; } < /dev/null >&2 "     \
    "|| exit; find . -name '*.trs' -exec rm -f {} +; make -k check \"$@\" > "                      \
    "${TMPDIR:-/tmp}/check 2>&1; status=$?; cat ${TMPDIR:-/tmp}/check >&2; "                       \
    "find . -name '*.trs' | LC_ALL=C sort | while read -r file; do "                               \
    "awk -v file=\"${file#./}\" '/^:test-result:/ { bad = /result: *X?(FAIL|ERROR|XPASS)/ && "     \
    "!/XFAIL/; skip = /result: *SKIP/; sub(/^:test-result: *[A-Z]+ */, \"\"); "                    \
    "sub(/\\.trs$/, \"\", file); print (bad ? \"not ok \" : \"ok \") ++n \" - \" file "            \
    "($0 == \"\" ? \"\" : \": \" $0) (skip ? \" # SKIP\" : \"\") }' \"$file\"; "                   \
    "done > " report "; [ -s " report " ] || awk '/^(X?PASS|X?FAIL|SKIP|ERROR): / { end = $1; "    \
    "sub(/^[A-Z]+: */, \"\"); print (end ~ /^(FAIL|XPASS|ERROR)/ ? \"not ok \" : \"ok \") ++n "    \
    "\" - \" $0 (end ~ /^SKIP/ ? \" # SKIP\" : \"\") }' ${TMPDIR:-/tmp}/check > " report "; "      \
    "exit $status"

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

/* Without Composer's packages the project's own classes are loaded all the same.  Composer wants
 * certificates even where it fetches nothing: any directory does. */
#define TEST_SCRIPT_PHPUNIT(report)                                                                \
    "tool=$(ls vendor/bin/phpunit ${DEPS:-/deps}/vendor/bin/phpunit $(command -v phpunit) "        \
    "2> /dev/null | head -n 1); [ \"$tool\" ] || { echo 'there is no phpunit: add it to "          \
    "require-dev of composer.json' >&2; exit 1; }; [ ! -f composer.json ] || "                     \
    "[ -e vendor/autoload.php ] || { SSL_CERT_DIR=/usr composer dump-autoload --dev --quiet "      \
    "--no-interaction; "                                                                           \
    "grep -qs bootstrap= phpunit.xml* || set -- --bootstrap vendor/autoload.php \"$@\"; }; "       \
    "exec php $tool --log-junit " report " \"$@\""

/* Every assertion of node-tap's tests of a file is a case of that file. */
#define TEST_SCRIPT_TAP(report)                                                                    \
    "PATH=$PWD/node_modules/.bin:$PATH; [ $# -gt 0 ] || set -- $(find test tests "                 \
    "__tests__ test.js tests.js -name node_modules -prune -o -path '*/fixtures/*' "                \
    "-prune -o -name '*js' -print 2> /dev/null | LC_ALL=C sort); tap --reporter=tap "              \
    "\"$@\" > ${TMPDIR:-/tmp}/tap; status=$?; cat ${TMPDIR:-/tmp}/tap >&2; awk '/^# "              \
    "Subtest: / { file = substr($0, 12) } /^        +(not ok |[a-z]+:)/ { why = why "              \
    "\"# \" $0 \"\\n\" } /^    (not )?ok / { bad = /^    not/; sub(/^ *(not )?ok "                 \
    "*[0-9]* *(- )?/, \"\"); sub(/ # time=.*/, \"\"); print (bad ? \"not ok \" : \"ok "            \
    "\") ++n \" - \" file \": \" $0; if (bad) printf \"%s\", why; why = \"\" }' "                  \
    "${TMPDIR:-/tmp}/tap > " report "; exit $status"

/* Tape prints one list for all its files: those that a script of the project names, or all. */
#define TEST_SCRIPT_TAPE                                                                           \
    "PATH=$PWD/node_modules/.bin:$PATH; [ $# -gt 0 ] || eval \"set -- $(node -p "                  \
    "\"(Object.values(require('./package.json').scripts || {}).map((one) => "                      \
    "/(?:^|[\\s;&])tape\\s+([^&|;]+)/.exec(one)).find(Boolean) || ['', ''])[1]\")\"; [ "           \
    "$# -gt 0 ] || { find test tests test.js tests.js -name node_modules -prune -o "               \
    "-name '*.js' -print 2> /dev/null | LC_ALL=C sort > ${TMPDIR:-/tmp}/files; set -- "            \
    "$(xargs grep -lE \"['\\\"]tape['\\\"]\" < ${TMPDIR:-/tmp}/files); }; exec tape "              \
    "\"$@\""

/* Jasmine has no report of cases: a helper adds one that every version takes. */
#define TEST_SCRIPT_JASMINE(report)                                                                \
    "PATH=$PWD/node_modules/.bin:$PATH; helper=${TMPDIR:-/tmp}/sandbox-run-jasmine.js; "           \
    "cat > $helper <<'END'\n"                                                                      \
    "const fs = require('fs'), to = fs.openSync('" report "', 'w'); let n = 0;\n"                  \
    "jasmine.getEnv().addReporter({ specDone(one) {\n"                                             \
    "  const bad = one.status === 'failed', late = "                                               \
    "/pending|excluded|disabled/.test(one.status);\n"                                              \
    "  const name = one.fullName.replace(/[\\n#]/g, ' ');\n"                                       \
    "  let text = `${bad ? 'not ' : ''}ok ${++n} - ${name}${late ? ' # SKIP' : "                   \
    "''}\\n`;\n"                                                                                   \
    "  for (const no of bad ? one.failedExpectations : [])\n"                                      \
    "    text += (no.message + '\\n' + (no.stack || '')).replace(/^/gm, '# ') + '\\n';\n"          \
    "  fs.writeSync(to, text);\n"                                                                  \
    "} });\n"                                                                                      \
    "END\n"                                                                                        \
    "exec jasmine --helper=$helper \"$@\""

/* Karma, by a configuration around the project's own, with a browser that is in a sandbox. */
#define TEST_SCRIPT_KARMA(report)                                                                  \
    "PATH=$PWD/node_modules/.bin:$PATH; "                                                          \
    "CHROME_BIN=${CHROME_BIN:-$(command -v chromium google-chrome chromium-browser | "             \
    "head -n 1)}; [ \"$CHROME_BIN\" ] || { echo 'karma needs a browser: install the "              \
    "package chromium' >&2; exit 127; }; export CHROME_BIN; "                                      \
    "conf=${TMPDIR:-/tmp}/sandbox-run-karma.cjs; cat > $conf <<'END'\n"                            \
    "const path = require('path'), fs = require('fs');\n"                                          \
    "const own = path.resolve(['karma.conf.js', 'karma.conf.cjs', 'karma.conf.mjs', "              \
    "'.karma.conf.js', 'config/karma.conf.js'].find((one) => fs.existsSync(one)));\n"              \
    "const to = fs.openSync('" report "', 'w'); let n = 0;\n"                                      \
    "function Lines() { this.adapters = []; this.onSpecComplete = (browser, one) => {\n"           \
    "  const name = [...one.suite, one.description].join(' ').replace(/[\\n#]/g, ' "               \
    "');\n"                                                                                        \
    "  const start = one.success || one.skipped ? 'ok ' : 'not ok ';\n"                            \
    "  let text = start + ++n + ' - ' + name + (one.skipped ? ' # SKIP' : '') + "                  \
    "'\\n';\n"                                                                                     \
    "  for (const no of one.success ? [] : one.log || []) text += no.replace(/^/gm, '# "           \
    "') + '\\n';\n"                                                                                \
    "  fs.writeSync(to, text); }; }\n"                                                             \
    "module.exports = async (config) => {\n"                                                       \
    "  const of = require(own); await (of.default || of)(config);\n"                               \
    "  config.set({ basePath: path.resolve(path.dirname(own), config.basePath || ''),\n"           \
    "    browsers: ['Inside'], singleRun: true, autoWatch: false, reporters: "                     \
    "['lines'],\n"                                                                                 \
    "    customLaunchers: { Inside: { base: 'ChromeHeadless',\n"                                   \
    "      flags: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] } },\n"             \
    "    plugins: [...(config.plugins || ['karma-*']), { 'reporter:lines': ['type', "              \
    "Lines] }] });\n"                                                                              \
    "};\n"                                                                                         \
    "END\n"                                                                                        \
    "exec karma start $conf \"$@\""

/* What these run ends in pytest, which leaves its report wherever it is started from. */
#define TEST_SCRIPT_PYTEST_BY(report, command)                                                     \
    "PYTEST_ADDOPTS=\"-o junit_family=xunit1 --junitxml=" report " $PYTEST_ADDOPTS\"; "            \
    "export PYTEST_ADDOPTS; exec python3 -m " command " \"$@\""

/* Hatch would make an environment of its own: its scripts run in this one. */
#define TEST_SCRIPT_HATCH                                                                          \
    "import os, subprocess, sys, tomllib\n"                                                        \
    "tool = tomllib.load(open('pyproject.toml', 'rb')).get('tool', {}).get('hatch', "              \
    "{})\n"                                                                                        \
    "scripts = {}\n"                                                                               \
    "for one in tool.get('envs', {}).values():\n"                                                  \
    "    for name, text in one.get('scripts', {}).items(): scripts.setdefault(name, "              \
    "text)\n"                                                                                      \
    "def run(name):\n"                                                                             \
    "    lines = scripts[name]\n"                                                                  \
    "    for line in [lines] if isinstance(lines, str) else lines:\n"                              \
    "        while '{args' in line:\n"                                                             \
    "            at = line.index('{args'); end = line.index('}', at)\n"                            \
    "            line = line[:at] + (' '.join(sys.argv[1:]) or line[at + 6:end]) + "               \
    "line[end + 1:]\n"                                                                             \
    "        word = line.split()[0]\n"                                                             \
    "        status = run(word) if word in scripts and word != name else "                         \
    "subprocess.call(line, shell=True)\n"                                                          \
    "        if status: return status\n"                                                           \
    "    return 0\n"                                                                               \
    "name = next((one for one in ('test', 'tests', 'run', 'unit') if one in scripts), "            \
    "None)\n"                                                                                      \
    "plain = [sys.executable, '-m', 'pytest', *sys.argv[1:]]\n"                                    \
    "sys.exit(run(name) if name else subprocess.call(plain))\n"

/* Nextest where it is installed; cargo runs the same tests. */
#define TEST_SCRIPT_NEXTEST(report)                                                                \
    "if command -v cargo-nextest > /dev/null; then cargo nextest run --offline "                   \
    "--no-fail-fast --color never \"$@\"; else cargo test --no-fail-fast \"$@\"; fi > "            \
    "${TMPDIR:-/tmp}/nextest 2>&1; status=$?; cat ${TMPDIR:-/tmp}/nextest >&2; awk '/^ "           \
    "*(PASS|FAIL|SIG[A-Z]+|TIMEOUT|LEAK|SKIP) \\[/ { end = $1; sub(/^[^]]*\\] */, "                \
    "\"\"); sub(/^\\([^)]*\\) */, \"\"); sub(/^[^ ]+ +/, \"\"); if (seen[$0]++) next; "            \
    "print (end ~ /PASS|LEAK|SKIP/ ? \"ok \" : \"not ok \") ++n \" - \" $0 (end == "               \
    "\"SKIP\" ? \" # SKIP\" : \"\"); next } /^test .* \\.\\.\\. (ok|FAILED|ignored)/ { "           \
    "end = $NF; sub(/^test /, \"\"); sub(/ \\.\\.\\. .*/, \"\"); print (end == "                   \
    "\"FAILED\" ? \"not ok \" : \"ok \") ++n \" - \" $0 (end == \"ignored\" ? \" # "               \
    "SKIP\" : \"\") }' ${TMPDIR:-/tmp}/nextest > " report "; exit $status"

/* Each test of testthat is a case of its file; the package is installed beside the project. */
#define TEST_SCRIPT_TESTTHAT(report)                                                               \
    "lib=${TMPDIR:-/tmp}/r-library; mkdir -p $lib; R_LIBS=$lib:$R_LIBS; export R_LIBS; "           \
    "R CMD INSTALL --no-docs --no-multiarch -l $lib . >&2 || exit; exec Rscript -e "               \
    "'name <- read.dcf(\"DESCRIPTION\", \"Package\")[[1]]; found <- "                              \
    "as.data.frame(testthat::test_dir(\"tests/testthat\", package = name, load_package "           \
    "= \"installed\", reporter = \"check\", stop_on_failure = FALSE)); bad <- "                    \
    "found$failed > 0 | found$error; plain <- function(x) gsub(\"[\\n#]\", \" \", x); "            \
    "writeLines(paste0(ifelse(bad, \"not ok \", \"ok \"), seq_along(bad), \" - \", "               \
    "found$file, \": \", plain(found$test), ifelse(found$skipped & !bad, \" # SKIP\", "            \
    "\"\")), \"" report "\"); quit(status = any(bad))' \"$@\""

/* As Maven's: a document for each class. */
#define TEST_SCRIPT_GRADLE(report)                                                                 \
    "command -v gradle > /dev/null || { echo 'gradle is not installed; its wrapper "               \
    "would fetch one' >&2; exit 127; }; reports() { find . -path "                                 \
    "'*/build/test-results/*/TEST-*.xml' \"$@\"; }; reports -exec rm -f {} +; gradle "             \
    "--offline --no-daemon --console=plain --continue test \"$@\"; status=$?; { echo "             \
    "'<testsuites>'; reports -exec sed '/^<?xml /d' {} +; echo '</testsuites>'; } > " report       \
    "; exit $status"

#endif
