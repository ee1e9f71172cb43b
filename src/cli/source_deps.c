/* Packages that a single file asks for by itself: the block of a Python script (PEP 723), and the
 * package.json beside a program of Node. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "cli/source.h"
#include "config/config_find.h"
#include "plan/language.h"

#define BLOCK_START "# /// script"
#define BLOCK_END "# ///"
#define MOST_DEP 200
#define MOST_BESIDE (16 << 20)

/* The content of a comment line of the block; NULL: the line is no comment. */
static const char *content_of(const char *line)
{
    if (line[0] != '#')
        return NULL;
    return line[1] == ' ' ? line + 2 : line[1] == '\0' ? line + 1 : NULL;
}

/* Adds a requirement as pip writes it, without its blanks. */
static int add_requirement(sbr_request *req, const char *text, size_t len, sbr_error *err)
{
    char dep[MOST_DEP + 1];
    size_t n = 0;

    if (memchr(text, ';', len))
        return err_set(
            err, SBR_E_INVALID, "dependencies",
            "the script's requirement '%.*s' has a condition; write it without, or put it "
            "into a requirements.txt",
            (int)(len < 100 ? len : 100), text);
    for (size_t i = 0; i < len && n < MOST_DEP; i++)
        if (text[i] != ' ' && text[i] != '\t')
            dep[n++] = text[i];
    dep[n] = '\0';
    return request_add_dep(req, dep, err);
}

/* The strings of `dependencies = [ ... ]`, line by line.  1 while the list is open. */
static int read_list(sbr_request *req, const char *at, sbr_error *err)
{
    while (*at && *at != '#') {
        if (*at == ']')
            return 0;
        if (*at == '"' || *at == '\'') {
            size_t len = strcspn(at + 1, *at == '"' ? "\"" : "'");

            if (!at[1 + len])
                return err_set(err, SBR_E_INVALID, "dependencies",
                               "the script's list of dependencies has a string without an end");
            if (add_requirement(req, at + 1, len, err) < 0)
                return err->code;
            at += len + 2;
            continue;
        }
        at++;
    }
    return 1;
}

static const char *list_start(const char *line)
{
    static const char key[] = "dependencies";

    if (strncmp(line, key, sizeof(key) - 1) != 0)
        return NULL;
    line += sizeof(key) - 1;
    line += strspn(line, " \t");
    if (*line != '=')
        return NULL;
    line += 1 + strspn(line + 1, " \t");
    return *line == '[' ? line + 1 : NULL;
}

static int read_block(sbr_request *req, char *text, sbr_error *err)
{
    bool in_block = false;
    int open = 0;

    for (char *line; (line = strsep(&text, "\n"));) {
        const char *content;

        line[strcspn(line, "\r")] = '\0';
        if (!in_block) {
            in_block = !strcmp(line, BLOCK_START);
            continue;
        }
        content = content_of(line);
        if (!content || !strcmp(line, BLOCK_END))
            return 0;
        if (!open && list_start(content))
            open = read_list(req, list_start(content), err);
        else if (open)
            open = read_list(req, content, err);
        if (open < 0)
            return err->code;
    }
    return 0;
}

static int add_of_script(struct options *o, const char *path, const char *text, size_t len,
                         sbr_error *err)
{
    scoped_free char *copy = NULL;

    (void)path;
    if (!memmem(text, len, BLOCK_START "\n", sizeof(BLOCK_START)) &&
        !memmem(text, len, BLOCK_START "\r", sizeof(BLOCK_START)))
        return 0;
    copy = strndup(text, len);
    return copy ? read_block(o->request, copy, err) : err_set_oom(err, "dependencies");
}

/* A file that was not named, beside one that was: only in a directory of the caller's own. */
static int add_beside(struct options *o, const char *program, const char *name, sbr_error *err)
{
    const char *slash = strrchr(program, '/');
    scoped_free char *dir = slash ? strndup(program, (size_t)(slash - program) + 1) : strdup(".");
    scoped_free char *data = NULL;
    scoped_fd int dir_fd = -1, fd = -1;
    struct stat st;
    size_t len;

    if (!dir)
        return err_set_oom(err, "dependencies");
    if (config_find_is_foreign(dir))
        return 0;
    dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd = dir_fd >= 0 ? inode_open_regular(dir_fd, name, &st) : -1;
    if (fd < 0)
        return 0;
    if (fd_read_text(fd, MOST_BESIDE, &data, &len, err) < 0 ||
        request_add_file(o->request, name, data, len, err) < 0)
        return err->code;
    return 1;
}

/* Only for a program that loads something: a script without modules needs no packages. */
static int add_of_package(struct options *o, const char *path, const char *text, size_t len,
                          sbr_error *err)
{
    int r = 0;

    if (path && (memmem(text, len, "require(", 8) || memmem(text, len, "import", 6)))
        r = add_beside(o, path, "package.json", err);
    return r > 0 ? add_beside(o, path, "package-lock.json", err) : r;
}

/* clang-format off */
static const struct {
    const char *language;
    int (*add)(struct options *o, const char *path, const char *text, size_t len, sbr_error *err);
} ways[] = {
    { "python",     add_of_script  },
    { "javascript", add_of_package },
    { "typescript", add_of_package },
};
/* clang-format on */

int source_add_deps(struct options *o, const char *path, sbr_error *err)
{
    const sbr_request *req = o->request;
    const struct language *language = req->language ? language_find(req->language) : NULL;
    const char *text = req->code ? req->code : req->n_files ? req->files[0].data : NULL;
    size_t len = req->code ? req->code_len : req->n_files ? req->files[0].len : 0;
    scoped_free char *data = NULL;

    if (req->program) {
        int r = source_read_program(req, &data, &len, err);

        if (r <= 0) /* the job reports that it is not there */
            return r;
        text = data;
        path = NULL; /* the project has its own lists */
    }
    for (size_t i = 0; language && text && i < ARRAY_LEN(ways); i++)
        if (!strcmp(ways[i].language, language->name))
            return ways[i].add(o, path, text, len, err);
    return 0;
}
