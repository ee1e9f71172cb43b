/* Files that have tests and nothing that would run them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/source.h"
#include "plan/language.h"

#define BEGINNING (32u << 10) /* has a sign of tests, or there are none */
#define MOST_READ (1u << 20)

/* Each decides by the lines of a text, of which none is cut, and stops as early as it can: every
 * run of a file passes here. */

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end + 1 : line + strlen(line);
}

static bool begins_with(const char *line, const char *word)
{
    return !strncmp(line, word, strlen(word));
}

static bool begins_with_any(const char *line, const char *const *words)
{
    for (; *words; words++)
        if (begins_with(line, *words))
            return true;
    return false;
}

/* True when the word stands in the line. */
static bool line_has(const char *line, const char *word)
{
    return memmem(line, (size_t)(next_line(line) - line), word, strlen(word)) != NULL;
}

static bool is_test_in_python(const char *line)
{
    return begins_with(line, "def test_") || begins_with(line, "class Test") ||
           (begins_with(line, "class ") && line_has(line, "unittest.TestCase)"));
}

/* Tests, and nothing but definitions: a statement at the left edge is a program of its own. */
static enum source_tests find_in_python(const char *text)
{
    static const char *const words[] = { "def ", "async def ", "class ", "import ", "from ", "@",
                                         "#",    "\r",         ")",      "\"\"\"",  NULL };
    bool found = false;

    for (const char *line = text; *line; line = next_line(line)) {
        if (*line == ' ' || *line == '\t' || *line == '\n')
            continue;
        if (!begins_with_any(line, words))
            return SOURCE_NO_TESTS;
        found |= is_test_in_python(line);
    }
    return found && !strstr(text, "__main__") ? SOURCE_TESTS_OF_RUNNER : SOURCE_NO_TESTS;
}

static enum source_tests find_in_go(const char *text)
{
    bool found = false;

    for (const char *line = text; *line; line = next_line(line)) {
        if (begins_with(line, "func main("))
            return SOURCE_NO_TESTS;
        found |= begins_with(line, "func Test");
    }
    return found && strstr(text, "testing.T") ? SOURCE_TESTS_OF_PROGRAM : SOURCE_NO_TESTS;
}

static bool has_tests_of_node(const char *text)
{
    for (const char *line = text; *line; line = next_line(line))
        if (begins_with(line, "test(") || begins_with(line, "describe("))
            return true;
    return false;
}

/* Written for a runner that brings `test`, and for nothing else of it: no matchers, no functions of
 * that name of its own or of a package. */
static bool needs_globals(const char *text)
{
    static const char *const others[] = { "expect(", "jest",           "vitest",
                                          "mocha",   "function test(", "function describe(",
                                          " test =", " describe =" };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strstr(text, others[i]))
            return false;
    for (const char *line = text; *line; line = next_line(line))
        if ((begins_with(line, "import") || line_has(line, "require(")) &&
            (line_has(line, "test") || line_has(line, "describe")))
            return false;
    return true;
}

static enum source_tests find_in_node(const char *text)
{
    if (!has_tests_of_node(text))
        return SOURCE_NO_TESTS;
    if (strstr(text, "node:test"))
        return SOURCE_TESTS_OF_PROGRAM;
    return needs_globals(text) ? SOURCE_TESTS_OF_GLOBALS : SOURCE_NO_TESTS;
}

typedef enum source_tests find_fn(const char *text);

static const struct {
    const char *language;
    find_fn *find;
} rows[] = {
    { "python", find_in_python },
    { "go", find_in_go },
    { "javascript", find_in_node },
};

/* NULL: files of that name have no tests that would be found. */
static find_fn *find_of(const char *path)
{
    const struct language *language = language_for_extension(path);

    for (size_t i = 0; language && i < ARRAY_LEN(rows); i++)
        if (!strcmp(rows[i].language, language->name))
            return rows[i].find;
    return NULL;
}

/* The whole of a file whose beginning may have tests. */
static enum source_tests find_in_all(find_fn *find, int fd)
{
    scoped_free char *text = calloc(1, MOST_READ + 1);
    ssize_t n = text && lseek(fd, 0, SEEK_SET) == 0 ? fd_read_full(fd, text, MOST_READ) : -1;

    return n > 0 && n < MOST_READ ? find(text) : SOURCE_NO_TESTS;
}

static enum source_tests find_in_file(find_fn *find, const char *path)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    static char beginning[BEGINNING + 1];
    ssize_t n = fd >= 0 ? fd_read_full(fd, beginning, BEGINNING) : -1;
    enum source_tests found;
    char *end;

    if (n <= 0)
        return SOURCE_NO_TESTS;
    beginning[n] = '\0';
    end = n == BEGINNING ? strrchr(beginning, '\n') : NULL;
    if (end)
        end[1] = '\0';
    found = find(beginning);
    return found != SOURCE_NO_TESTS && n == BEGINNING ? find_in_all(find, fd) : found;
}

enum source_tests source_find_tests(const struct options *o)
{
    static const char *last; /* it is asked twice in a run */
    static enum source_tests answer;
    const char *word = o->n_positional == 1 ? o->positional[0] : NULL;
    find_fn *find = word ? find_of(word) : NULL;

    if (!find || o->json || o->stream || o->rest || o->code || o->lang || o->template ||
        o->request->check || o->files.n || o->request->project)
        return SOURCE_NO_TESTS;
    if (word != last) {
        last = word;
        answer = find_in_file(find, word);
    }
    return answer;
}

/* Go finds tests by the name of their file. */
static int name_file(sbr_request *req, sbr_error *err)
{
    struct request_file *file = req->n_files ? &req->files[0] : NULL;
    size_t len = file ? strlen(file->path) : 0;
    char *name;

    if (len < 4 || strcmp(file->path + len - 3, ".go") != 0 || strstr(file->path, "_test.go"))
        return 0;
    name = text_format("%.*s_test.go", (int)len - 3, file->path);
    if (!name)
        return err_set_oom(err, "program");
    free(file->path);
    file->path = name;
    return 0;
}

/* The functions of node:test, by the names that runners of tests give them. */
#define NODE_GLOBALS                                                                               \
    "NODE_OPTIONS=--import=data:text/javascript,import*as%20t%20from'node:test';"                  \
    "for(const%20n%20of['test','it','describe','before','after','beforeEach','afterEach'])"        \
    "globalThis[n]||=t[n]"

static int name_functions(sbr_request *req, sbr_error *err)
{
    for (size_t i = 0; i < req->env.n; i++)
        if (begins_with(req->env.items[i], "NODE_OPTIONS="))
            return 0; /* the user's own may bring others */
    return request_add_env(req, NODE_GLOBALS, err);
}

enum source_tests source_tests_of(const char *path, const char *text)
{
    find_fn *find = find_of(path);
    enum source_tests found = find ? find(text) : SOURCE_NO_TESTS;

    return found != SOURCE_NO_TESTS ? found : SOURCE_TESTS_OF_PROGRAM;
}

int source_prepare_tests(enum source_tests how, sbr_request *req, sbr_error *err)
{
    switch (how) {
    case SOURCE_TESTS_OF_PROGRAM:
        return name_file(req, err);
    case SOURCE_TESTS_OF_GLOBALS:
        return name_functions(req, err);
    default:
        return 0;
    }
}
