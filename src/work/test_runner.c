#include "work/test_runner.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"

#define MOST_READ (256 * 1024)
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

static bool file_has(int dir_fd, const char *path, const char *text)
{
    scoped_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    scoped_free char *data = fd >= 0 ? calloc(1, MOST_READ + 1) : NULL;
    struct stat st;

    if (!data || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    return fd_read_full(fd, data, MOST_READ) > 0 && strstr(data, text);
}

/* A file in the directory, or in its test directories, whose name matches and which has the text;
 * an empty text: any. */
static bool some_file_has(int dir_fd, const char *pattern, const char *text)
{
    static const char *const places[] = { ".", "tests", "test", "spec", "src" };

    for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
        scoped_fd int fd = openat(dir_fd, places[p], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped_listing struct listing list = { 0 };

        if (fd < 0 || listing_read(fd, &list) < 0)
            continue;
        for (size_t i = 0; i < list.n; i++)
            if (fnmatch(pattern, list.names[i], FNM_PERIOD) == 0 &&
                (!*text || file_has(fd, list.names[i], text)))
                return true;
    }
    return false;
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
        if (some_file_has(dir_fd, signs[i].pattern, signs[i].text))
            *ret = named(signs[i].runner);
    if (*ret)
        return 0;
    return err_set(err, SBR_E_NOT_FOUND, "test",
                   "there is no sign of tests here; name the runner with --runner, or the command: "
                   "`sandbox-run exec --project DIR -- COMMAND`");
}
