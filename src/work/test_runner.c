#include "work/test_runner.h"

#include <string.h>

#include "work/signs.h"

#define REPORT "/work/" TEST_RUNNER_REPORT

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct test_runner runners[] = {
    { "vitest", "javascript",
      WORDS("npx", "--no-install", "vitest", "run", "--reporter=junit", "--outputFile=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "jest", "javascript",
      WORDS("npx", "--no-install", "jest", "--ci", "--json", "--outputFile=" REPORT,
            "--testLocationInResults"),
      test_report_parse_jest, REPORT_IN_FILE, NULL, NULL },
    { "mocha", "javascript",
      WORDS("npx", "--no-install", "mocha", "--reporter", "xunit", "--reporter-option",
            "output=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "node", "javascript",
      WORDS("node", "--test", "--test-reporter=junit", "--test-reporter-destination=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, NULL, NULL },
    { "go", "go", WORDS("go", "test", "-json", "./..."), test_report_parse_go, REPORT_ON_STDOUT,
      NULL, NULL },
    { "cargo", "rust", WORDS("cargo", "test", "--no-fail-fast"), test_report_parse_cargo,
      REPORT_ON_STDOUT, NULL, NULL },
    { "pytest", "python",
      WORDS("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1",
            "--junitxml=" REPORT),
      test_report_parse_junit, REPORT_IN_FILE, "No module named pytest", "pytest" },
    { "unittest", "python", WORDS("python3", "-m", "unittest", "discover", "-v"),
      test_report_parse_unittest, REPORT_ON_STDERR, NULL, NULL },
    { "bats", "bash", WORDS("bats", "--formatter", "tap", "."), test_report_parse_tap,
      REPORT_ON_STDOUT, NULL, NULL },
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

/* The first row whose file has its text decides. */
static const struct {
    const char *runner, *pattern, *text;
} signs[] = {
    { "vitest", "package.json", "\"vitest\"" },
    { "jest", "package.json", "\"jest\"" },
    { "mocha", "package.json", "\"mocha\"" },
    { "node", "package.json", "node --test" },
    { "go", "go.mod", "" },
    { "go", "*_test.go", "" },
    { "cargo", "Cargo.toml", "" },
    { "pytest", "pytest.ini", "" },
    { "pytest", "conftest.py", "" },
    { "pytest", "pyproject.toml", "pytest" },
    { "pytest", "setup.cfg", "pytest" },
    { "pytest", "tox.ini", "pytest" },
    { "pytest", "test_*.py", "import pytest" },
    { "unittest", "test*.py", "unittest" },
    { "pytest", "test_*.py", "def test" },
    { "pytest", "*_test.py", "def test" },
    { "node", "*.test.js", "" },
    { "node", "*.test.mjs", "" },
    { "node", "*.test.cjs", "" },
    { "bats", "*.bats", "" },
    { "make", "Makefile", "\ntest:" },
};

int test_runner_find(int dir_fd, const char *name, const struct test_runner **ret, sbr_error *err)
{
    *ret = name ? named(name) : NULL;
    if (name && !*ret)
        return err_set(err, SBR_E_NOT_FOUND, "test",
                       "there is no test runner '%.60s'; give one of vitest, jest, mocha, node, "
                       "go, cargo, pytest, unittest, bats and make",
                       name);
    for (size_t i = 0; !*ret && i < sizeof(signs) / sizeof(*signs); i++)
        if (signs_in_project(dir_fd, signs[i].pattern, signs[i].text))
            *ret = named(signs[i].runner);
    if (*ret)
        return 0;
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
    { "_test.go",
      "",
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
