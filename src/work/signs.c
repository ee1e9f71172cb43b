#include "work/signs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/scope.h"
#include "base/walk.h"
#include "toolchain/project_excludes.h"

#define MOST_DEPTH 6
#define MOST_PATH 4096
#define MOST_ENTRIES 20000   /* of one look; a project with more has its signs before */
#define MOST_BYTES (8 << 20) /* read in one look; the same holds */

int signs_open(struct signs *ret, const sbr_request *req, const char *source, sbr_error *err)
{
    *ret = (struct signs){ .dir_fd = -1, .req = req };
    if (!req->project)
        return 0;
    ret->dir_fd = open(req->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return err_set_errno(err, source, "cannot open '%.200s'", req->project);
    ret->rules = &ret->own;
    return project_excludes_open(ret->dir_fd, req, &ret->own, err);
}

void signs_close(struct signs *signs)
{
    if (signs->dir_fd >= 0)
        close(signs->dir_fd);
    signs->dir_fd = -1;
    exclude_done(&signs->own);
    signs->rules = NULL;
}

static char *read_at(int dir_fd, const char *path)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, path, &st);
    scoped_free char *data = fd >= 0 ? calloc(1, SIGNS_MOST + 1) : NULL;

    return data && fd_read_full(fd, data, SIGNS_MOST) >= 0 ? take_ptr(data) : NULL;
}

static bool is_left_out(const struct signs *signs, const char *path)
{
    return signs->rules && project_excludes_hides(signs->rules, signs->dir_fd, path);
}

static char *read_file(const struct request_file *file)
{
    return strndup(file->data ? file->data : "", file->len < SIGNS_MOST ? file->len : SIGNS_MOST);
}

char *signs_read(const struct signs *signs, const char *path)
{
    for (size_t i = 0; signs->req && i < signs->req->n_files; i++)
        if (!strcmp(signs->req->files[i].path, path))
            return read_file(&signs->req->files[i]);
    return signs->dir_fd >= 0 && !is_left_out(signs, path) ? read_at(signs->dir_fd, path) : NULL;
}

struct search {
    const struct signs *signs;
    enum signs_reach reach;
    const char *pattern, *text;
    unsigned int looked;
    uint64_t read;
    bool found;
};

static bool is_in_list(const char *const *list, const char *name, size_t len)
{
    for (; *list; list++)
        if (strlen(*list) == len && !strncmp(*list, name, len))
            return true;
    return false;
}

/* Whether files of the directory count, which lies in one that counts. */
static bool enters(const struct search *s, unsigned int depth, const char *name, size_t len)
{
    static const char *const usual[] = { "tests", "test", "spec", "src", NULL };
    static const char *const results[] = { "node_modules", "target",        "vendor", "venv",
                                           "build",        "site-packages", "dist",   NULL };

    if (s->reach == SIGNS_NEAR)
        return depth == 0 && is_in_list(usual, name, len);
    return s->reach == SIGNS_BELOW && *name != '.' && !is_in_list(results, name, len);
}

static bool is_called(const struct search *s, const char *name)
{
    return !fnmatch(s->pattern, name, FNM_PERIOD);
}

/* Whether the entry is a sign by its name, and by its text where one is wanted. */
static bool is_sign(struct search *s, const struct walk_entry *entry)
{
    scoped_free char *text = NULL;

    if (!is_called(s, entry->name) || is_left_out(s->signs, entry->path))
        return false;
    if (!*s->text)
        return S_ISREG(entry->st.st_mode) || S_ISLNK(entry->st.st_mode);
    text = read_at(entry->dir_fd, entry->name);
    s->read += SIGNS_MOST < entry->st.st_size ? SIGNS_MOST : (uint64_t)entry->st.st_size;
    return text && strstr(text, s->text);
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct search *s = context;

    bool directory = S_ISDIR(entry->st.st_mode);

    s->found = !directory && is_sign(s, entry);
    if (s->found || s->looked++ > MOST_ENTRIES || s->read > MOST_BYTES)
        return err_set(err, SBR_E_NOT_FOUND, "project", "the look has ended");
    return directory && !enters(s, entry->depth, entry->name, strlen(entry->name)) ? WALK_SKIP : 0;
}

static bool file_counts(const struct search *s, const char *path)
{
    unsigned int depth = 0;

    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1)
        if (!enters(s, depth++, path, (size_t)(slash - path)))
            return false;
    return is_called(s, path);
}

static bool files_have(const struct search *s, const sbr_request *req)
{
    for (size_t i = 0; req && i < req->n_files; i++) {
        scoped_free char *text =
            file_counts(s, req->files[i].path) ? read_file(&req->files[i]) : NULL;

        if (text && strstr(text, s->text))
            return true;
    }
    return false;
}

bool signs_have(const struct signs *signs, enum signs_reach reach, const char *pattern,
                const char *text)
{
    struct search s = { .signs = signs, .reach = reach, .pattern = pattern, .text = text };
    const struct walk walk = {
        .visit = visit,
        .fail = walk_pass_over, /* What cannot be opened, or lies too deep, has no sign. */
        .context = &s,
        .stage = "project",
        .max_depth = MOST_DEPTH,
        .max_path = MOST_PATH
    };
    sbr_error none;

    if (files_have(&s, signs->req))
        return true;
    if (signs->dir_fd >= 0)
        (void)!walk_tree(signs->dir_fd, &walk, &none);
    return s.found;
}
