/* Files that have tests and nothing that would run them. */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/source.h"
#include "plan/language.h"

#define MOST_READ (1u << 20)

/* A line of the text, at its start, begins with the word. */
static bool has_line(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, word, len))
            return true;
    }
    return false;
}

static bool begins_with_any(const char *line, const char *const *words)
{
    for (; *words; words++)
        if (!strncmp(line, *words, strlen(*words)))
            return true;
    return false;
}

/* Nothing but definitions: a statement at the left edge is a program of its own. */
static bool only_defines(const char *text)
{
    static const char *const words[] = { "def ", "async def ", "class ", "import ", "from ",
                                         "@",    "#",          " ",      "\t",      "\n",
                                         "\r",   ")",          "\"\"\"", NULL };

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n' && line > text;
        if (*line && !begins_with_any(line, words))
            return false;
        if (*line == '\n')
            continue;
        line += *line != '\0';
    }
    return !strstr(text, "__main__");
}

static bool is_tests_in_python(const char *text)
{
    return (has_line(text, "def test_") || strstr(text, "unittest.TestCase)") ||
            has_line(text, "class Test")) &&
           only_defines(text);
}

static bool is_tests_in_go(const char *text)
{
    return has_line(text, "func Test") && strstr(text, "testing.T") &&
           !has_line(text, "func main(");
}

static bool is_tests_in_node(const char *text)
{
    return strstr(text, "node:test") && (has_line(text, "test(") || has_line(text, "describe("));
}

static const struct {
    const char *language;
    bool (*is)(const char *text);
    enum source_tests how;
} rows[] = {
    { "python", is_tests_in_python, SOURCE_TESTS_OF_RUNNER },
    { "go", is_tests_in_go, SOURCE_TESTS_OF_PROGRAM },
    { "javascript", is_tests_in_node, SOURCE_TESTS_OF_PROGRAM },
};

enum source_tests source_find_tests(const struct options *o)
{
    const char *word = o->n_positional == 1 ? o->positional[0] : NULL;
    const struct language *language = word ? language_for_extension(word) : NULL;
    scoped_free char *text = NULL;
    scoped_fd int fd = -1;
    ssize_t n;

    if (!language || o->json || o->stream || o->rest || o->code || o->lang || o->template ||
        o->request->check || o->files.n || o->request->project)
        return SOURCE_NO_TESTS;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].language, language->name) != 0)
            continue;
        fd = open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        text = fd >= 0 ? calloc(1, MOST_READ + 1) : NULL;
        n = text ? fd_read_full(fd, text, MOST_READ) : -1;
        return n > 0 && n < MOST_READ && rows[i].is(text) ? rows[i].how : SOURCE_NO_TESTS;
    }
    return SOURCE_NO_TESTS;
}

/* Go finds tests by the name of their file. */
int source_name_tests(sbr_request *req, sbr_error *err)
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
