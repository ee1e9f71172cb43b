#include "work/test_runner.h"

#include <string.h>

#include "work/node_tool.h"
#include "work/test_scripts.h"

#define REPORT "/work/" TEST_RUNNER_REPORT

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* Surefire writes a document for each class; what an earlier run has left is not this one's. */
#define MAVEN                                                                                      \
    "reports() { find . -path '*/target/surefire-reports/TEST-*.xml' \"$@\"; }; "                  \
    "reports -exec rm -f {} +; mvn -B -o -fae -Dstyle.color=never test \"$@\"; status=$?; "        \
    "{ echo '<testsuites>'; reports -exec sed '/^<?xml /d' {} +; echo '</testsuites>'; } "         \
    "> " REPORT "; exit $status"

/* Java without Maven: every source is compiled with the jars of the project and of its packages,
 * and the platform's own launcher runs what it finds, of JUnit 4 as well.  It writes a document for
 * each of its engines. */
#define JUNIT                                                                                      \
    "made=${TMPDIR:-/tmp}/sandbox-run-junit; mkdir -p $made/classes; "                             \
    "jars() { find . \"${DEPS:-.}\" -name \"$1\" 2>/dev/null; }; "                                 \
    "launcher=$(jars 'junit-platform-console-standalone-*.jar' | head -n 1); "                     \
    "test -n \"$launcher\" || { echo '" NO_LAUNCHER "' >&2; exit 1; }; "                           \
    "path=$made/classes:.:$(jars '*.jar' | tr '\\n' :); "                                          \
    "find . -name '*.java' ! -path './target/*' ! -path './build/*' | sed 's/.*/\"&\"/' "          \
    "> $made/sources; javac -encoding UTF-8 -d $made/classes -cp \"$path\" @$made/sources || "     \
    "exit; java -jar \"$launcher\" execute --disable-banner --details=none "                       \
    "--class-path=\"$path\" --scan-class-path=$made/classes --reports-dir=$made/reports \"$@\"; "  \
    "status=$?; { echo '<testsuites>'; sed '/^<?xml /d' $made/reports/TEST-*.xml; "                \
    "echo '</testsuites>'; } > " REPORT "; exit $status"
#define NO_LAUNCHER "there is no junit-platform-console-standalone"

static const struct test_runner runners[] = {
    { "vitest", "javascript",
      WORDS(NODE_TOOL("vitest", "vitest"), "run", "--reporter=junit", "--outputFile=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "jest", "javascript",
      WORDS(NODE_TOOL("jest", "jest"), "--ci", "--json", "--outputFile=" REPORT,
            "--testLocationInResults"),
      test_report_parse_jest, REPORT_IN_FILE, NULL, NULL },
    { "mocha", "javascript",
      WORDS(NODE_TOOL("mocha", "mocha"), "--reporter", "xunit", "--reporter-option",
            "output=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "ava", "javascript", WORDS(NODE_TOOL("ava", "ava"), "--tap"), test_report_parse_tap,
      REPORT_ON_STDOUT, NULL, NULL },
    { "jasmine", "javascript", WORDS("sh", "-c", TEST_SCRIPT_JASMINE(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "karma", "javascript", WORDS("sh", "-c", TEST_SCRIPT_KARMA(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "tap", "javascript", WORDS("sh", "-c", TEST_SCRIPT_TAP(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "tape", "javascript", WORDS("sh", "-c", TEST_SCRIPT_TAPE, "test"), test_report_parse_tap,
      REPORT_ON_STDOUT, NULL, NULL },
    { "node", "javascript",
      WORDS("node", "--test", "--test-reporter=junit", "--test-reporter-destination=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "go", "go", WORDS("go", "test", "-json", "./..."), test_report_parse_go, REPORT_ON_STDOUT,
      NULL, NULL },
    { "maven", "java", WORDS("sh", "-c", MAVEN, "test"), test_report_parse_junit, REPORT_IN_FILE,
      NULL, "maven-lifecycle" },
    { "junit", "java", WORDS("sh", "-c", JUNIT, "test"), test_report_parse_junit, REPORT_IN_FILE,
      NO_LAUNCHER, "org.junit.platform:junit-platform-console-standalone:1.10.2" },
    { "gradle", "java", WORDS("sh", "-c", TEST_SCRIPT_GRADLE(REPORT), "test"),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "nextest", "rust", WORDS("sh", "-c", TEST_SCRIPT_NEXTEST(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "cargo", "rust", WORDS("cargo", "test", "--no-fail-fast"), test_report_parse_cargo,
      REPORT_ON_STDOUT, NULL, NULL },
    { "pytest", "python",
      WORDS("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1",
            "--junitxml=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, "No module named pytest", "pytest" },
    { "doctest", "python",
      WORDS("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", "-o",
            "junit_family=xunit1", "--junitxml=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, "No module named pytest", "pytest" },
    { "hatch", "python",
      WORDS("env", "PYTEST_ADDOPTS=-o junit_family=xunit1 --junitxml=" REPORT, "python3", "-c",
            TEST_SCRIPT_HATCH),
      test_report_parse_junit, REPORT_IN_FILE, "No module named pytest", "pytest" },
    { "tox", "python",
      WORDS("sh", "-c", TEST_SCRIPT_PYTEST_BY(REPORT, "tox --current-env -e py"), "test"),
      test_report_parse_junit, REPORT_IN_FILE, "No module named tox", "tox-current-env" },
    { "nox", "python",
      WORDS("sh", "-c", TEST_SCRIPT_PYTEST_BY(REPORT, "nox --no-venv --no-install"), "test"),
      test_report_parse_junit, REPORT_IN_FILE, "No module named nox", "nox" },
    { "unittest", "python", WORDS("python3", "-m", "unittest", "discover", "-v"),
      test_report_parse_unittest, REPORT_ON_STDERR, NULL, NULL },
    { "bats", "bash", WORDS("bats", "--formatter", "tap", "."), test_report_parse_tap,
      REPORT_ON_STDOUT, NULL, NULL },
    { "prove", "perl", WORDS("sh", "-c", TEST_SCRIPT_PROVE(REPORT), "test"), test_report_parse_tap,
      REPORT_IN_FILE, NULL, NULL },
    { "rspec", "ruby", WORDS("sh", "-c", TEST_SCRIPT_RSPEC(REPORT), "test"), test_report_parse_tap,
      REPORT_IN_FILE, NULL, NULL },
    { "minitest", "ruby", WORDS("sh", "-c", TEST_SCRIPT_MINITEST(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "phpunit", "php", WORDS("sh", "-c", TEST_SCRIPT_PHPUNIT(REPORT), "test"),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "busted", "lua", WORDS("busted", "-o", "TAP"), test_report_parse_tap, REPORT_ON_STDOUT, NULL,
      NULL },
    { "testthat", "r", WORDS("sh", "-c", TEST_SCRIPT_TESTTHAT(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "meson", "c", WORDS("sh", "-c", TEST_SCRIPT_MESON(REPORT), "test"), test_report_parse_junit,
      REPORT_IN_FILE, NULL, NULL },
    { "ctest", "c", WORDS("sh", "-c", TEST_SCRIPT_CTEST(REPORT), "test"), test_report_parse_junit,
      REPORT_IN_FILE, NULL, NULL },
    { "automake", "c", WORDS("sh", "-c", TEST_SCRIPT_AUTOMAKE(REPORT), "test"),
      test_report_parse_tap, REPORT_IN_FILE, NULL, NULL },
    { "make", "c", WORDS("make", "test"), NULL, REPORT_ON_STDOUT, NULL, NULL },
};

#define N_RUNNERS (sizeof(runners) / sizeof(*runners))

const char *test_runner_name(size_t i)
{
    return i < N_RUNNERS ? runners[i].name : NULL;
}

static const struct test_runner *named(const char *name)
{
    for (size_t i = 0; i < N_RUNNERS; i++)
        if (!strcmp(runners[i].name, name))
            return &runners[i];
    return NULL;
}

/* The first row whose file has its text decides; near ones come before those of deeper directories.
 * A file that configures a runner counts for its own directory alone. */
static const struct {
    const char *runner, *pattern, *text;
    bool below;
} signs[] = {
    { "vitest", "package.json", "\"vitest\"", false },
    { "jest", "package.json", "\"jest\"", false },
    { "mocha", "package.json", "\"mocha\"", false },
    { "node", "package.json", "node --test", false },
    { "ava", "package.json", "\"ava\"", false },
    { "karma", "karma.conf.*", "", false },
    { "jasmine", "package.json", "\"jasmine\"", false },
    { "tap", "package.json", "\"tap\"", false },
    { "tape", "package.json", "\"tape\"", false },
    { "go", "go.mod", "", false },
    { "go", "*_test.go", "", true },
    { "nextest", "nextest.toml", "", true },
    { "cargo", "Cargo.toml", "", false },
    { "maven", "pom.xml", "", false },
    { "gradle", "build.gradle*", "", false },
    { "junit", "*Test.java", "org.junit", true },
    { "junit", "*Tests.java", "org.junit", true },
    { "junit", "Test*.java", "org.junit", true },
    { "pytest", "pytest.ini", "", false },
    { "pytest", "conftest.py", "", true },
    { "pytest", "pyproject.toml", "pytest", false },
    { "pytest", "setup.cfg", "pytest", false },
    { "pytest", "tox.ini", "pytest", false },
    { "pytest", "test_*.py", "import pytest", true },
    { "unittest", "test*.py", "unittest", true },
    { "pytest", "test_*.py", "def test", true },
    { "pytest", "*_test.py", "def test", true },
    { "tox", "tox.ini", "commands", false },
    { "nox", "noxfile.py", "", false },
    { "node", "*.test.js", "", true },
    { "node", "*.test.mjs", "", true },
    { "node", "*.test.cjs", "", true },
    { "bats", "*.bats", "", true },
    { "prove", "Makefile.PL", "", false },
    { "prove", "Build.PL", "", false },
    { "rspec", ".rspec", "", false },
    { "rspec", "*_spec.rb", "describe", true },
    { "minitest", "test_*.rb", "initest", true },
    { "minitest", "*_test.rb", "initest", true },
    { "phpunit", "phpunit.xml*", "", false },
    { "busted", ".busted", "", false },
    { "busted", "*_spec.lua", "describe", true },
    { "testthat", "DESCRIPTION", "testthat", false },
    { "meson", "meson.build", "test(", true },
    { "ctest", "CMakeLists.txt", "enable_testing", false },
    { "ctest", "CMakeLists.txt", "CTest", false },
    { "ctest", "CMakeLists.txt", "add_test", true },
    { "automake", "configure.ac", "AM_INIT_AUTOMAKE", false },
    { "make", "Makefile", "\ntest:", false },
    { "prove", "*.t", "", true },
};

static const struct test_runner *find(const struct signs *project, enum signs_reach reach)
{
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if ((reach != SIGNS_BELOW || signs[i].below) &&
            signs_have(project, reach, signs[i].pattern, signs[i].text))
            return named(signs[i].runner);
    return NULL;
}

static int unknown(const char *name, sbr_error *err)
{
    char list[512] = "";

    for (size_t i = 0; i < N_RUNNERS; i++)
        strncat(list, i ? ", " : "", sizeof(list) - strlen(list) - 1),
            strncat(list, runners[i].name, sizeof(list) - strlen(list) - 1);
    return err_set(err, SBR_E_NOT_FOUND, "test", "there is no test runner '%.60s'; give one of %s",
                   name, list);
}

/* Runners that cannot be had here, and why. */
static const struct {
    const char *name, *pattern, *text, *why;
} refused[] = {
    { "cypress", "package.json", "\"cypress\"",
      "cypress fetches a browser build of its own, which no installer here may run: run it "
      "outside; "
      "for the project's other tests name the runner with --runner" },
};

static int refuse(const struct signs *project, const char *name, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (name ? !strcmp(name, refused[i].name)
                 : signs_have(project, SIGNS_NEAR, refused[i].pattern, refused[i].text))
            return err_set(err, SBR_E_UNSUPPORTED, "test", "%s", refused[i].why);
    return 0;
}

int test_runner_find(const struct signs *project, const char *name, const struct test_runner **ret,
                     sbr_error *err)
{
    *ret = name ? named(name) : NULL;
    if (name && !*ret)
        return refuse(project, name, err) < 0 ? err->code : unknown(name, err);
    if (!*ret)
        *ret = find(project, SIGNS_NEAR);
    if (!*ret)
        *ret = find(project, SIGNS_BELOW);
    if (*ret)
        return 0;
    if (refuse(project, NULL, err) < 0)
        return err->code;
    return err_set(err, SBR_E_NOT_FOUND, "test",
                   "there is no sign of tests here; name the runner with --runner, or the command: "
                   "`sandbox-run exec --project DIR -- COMMAND`");
}

/* Of files by themselves; the first row whose text the file has decides. */
static const struct {
    const char *ending, *text;
    struct test_runner runner;
} of_files[] = {
    { ".py",
      "unittest",
      { "unittest", "python", WORDS("python3", "-m", "unittest", "-v"), test_report_parse_unittest,
        REPORT_ON_STDERR, NULL, NULL } },
    { ".py",
      "",
      { "pytest", "python",
        WORDS("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o",
              "junit_family=xunit1", "--junitxml=" REPORT),
        test_report_parse_junit, REPORT_IN_FILE, "No module named pytest", "pytest" } },
    { ".go",
      "func Test",
      { "go", "go", WORDS("go", "test", "-json"), test_report_parse_go, REPORT_ON_STDOUT, NULL,
        NULL } },
    { "js",
      "",
      { "node", "javascript",
        WORDS("node", "--test", "--test-reporter=junit", "--test-reporter-destination=" REPORT),
        test_report_parse_junit, REPORT_IN_FILE, NULL, NULL } },
    { ".bats",
      "",
      { "bats", "bash", WORDS("bats", "--formatter", "tap"), test_report_parse_tap,
        REPORT_ON_STDOUT, NULL, NULL } },
};

int test_runner_for_file(const char *path, const char *text, const char *name,
                         const struct test_runner **ret, sbr_error *err)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++) {
        size_t n = strlen(of_files[i].ending);
        bool fits =
            name ? !strcmp(name, of_files[i].runner.name) : strstr(text, of_files[i].text) != NULL;

        *ret = &of_files[i].runner;
        if (fits && len > n && !strcmp(path + len - n, of_files[i].ending))
            return 0;
    }
    return err_set(err, SBR_E_NOT_FOUND, "test",
                   "'%.100s' is no file of tests that can run by itself; name its directory", path);
}
