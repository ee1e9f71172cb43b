/* A program that is a directory: every regular file below it, and the main file by its name. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/inode.h"
#include "cli/source.h"
#include "cli/source_named.h"
#include "toolchain/project_excludes.h"

#define MAX_DEPTH 32

struct place {
    struct exclude *rules; /* what is left out */
    bool out;              /* the directory itself, but for what is included in it */
    int fd;
    const char *path; /* below the top; empty at the top */
    int depth;
};

static int add_entry(sbr_request *req, int dir_fd, const char *name, const char *path,
                     sbr_error *err)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, name, &st);
    scoped_free char *data = NULL;
    size_t len = 0;

    if (fd < 0)
        return err_set_errno(err, "program", "cannot read '%.200s'", path);
    if (fd_read_text(fd, REQUEST_MAX_BYTES, &data, &len, err) < 0 ||
        request_add_file(req, path, data, len, err) < 0)
        return err->code;
    req->files[req->n_files - 1].executable = st.st_mode & 0111;
    return 0;
}

static int add_tree(sbr_request *req, const struct place *place, sbr_error *err);

static int add_directory(sbr_request *req, const struct place *above, const char *name,
                         const char *path, bool out, sbr_error *err)
{
    scoped_fd int fd = openat(above->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct place place = {
        .rules = above->rules, .out = out, .fd = fd, .path = path, .depth = above->depth + 1
    };

    if (fd < 0)
        return err_set_errno(err, "program", "cannot read the directory '%.200s'", path);
    if (place.depth > MAX_DEPTH)
        return err_set(err, SBR_E_INVALID, "program", "'%.200s' is too deep", path);
    return add_tree(req, &place, err);
}

/* Named as the program would see it. */
static int leave_out(sbr_request *req, const char *path, sbr_error *err)
{
    char inside[REQUEST_MAX_PATH + 8];

    snprintf(inside, sizeof(inside), "/work/%s", path);
    return string_list_add(&req->left_out, inside, err);
}

/* A link or special file is an error: a program without it would fail for no visible reason. */
static int add_any(sbr_request *req, const struct place *place, const char *name, sbr_error *err)
{
    char path[REQUEST_MAX_PATH + 1];
    bool directory, out;
    struct stat st;

    if (snprintf(path, sizeof(path), "%s%s%s", place->path, *place->path ? "/" : "", name) >=
        (int)sizeof(path))
        return err_set(err, SBR_E_INVALID, "program", "the path '%.200s...' is too long", path);
    if (fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set_errno(err, "program", "cannot look at '%.200s'", path);
    directory = S_ISDIR(st.st_mode);
    out = place->out ? !exclude_is_included(place->rules, path, directory)
                     : project_excludes_has(place->rules, place->fd, name, path, directory);
    if (out && !(directory && exclude_reaches_below(place->rules, path)))
        return leave_out(req, path, err);
    if (S_ISREG(st.st_mode))
        return add_entry(req, place->fd, name, path, err);
    if (directory)
        return add_directory(req, place, name, path, out, err);
    return err_set(err, SBR_E_INVALID, "program",
                   "'%.200s' is neither a file nor a directory; bring the tree in with --volume",
                   path);
}

static int add_tree(sbr_request *req, const struct place *place, sbr_error *err)
{
    int copy = fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    if (!dir)
        return err_set_errno(err, "program", "cannot read the directory '%.200s'", place->path);
    while ((entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (add_any(req, place, entry->d_name, err) < 0)
            return err->code;
    }
    return 0;
}

static void put_first(sbr_request *req, size_t at)
{
    struct request_file first = req->files[at];

    req->files[at] = req->files[0];
    req->files[0] = first;
}

static const struct request_file *file_named(const sbr_request *req, const char *path)
{
    for (size_t i = 0; i < req->n_files; i++)
        if (!strcmp(req->files[i].path, path))
            return &req->files[i];
    return NULL;
}

static char *read_file(void *request, const char *path)
{
    const struct request_file *file = file_named(request, path);

    return file ? strndup(file->data, file->len) : NULL;
}

static bool has_file(void *request, const char *path)
{
    return file_named(request, path) != NULL;
}

/* The main file comes first: that is what makes it the program. */
static int put_main_first(sbr_request *req, const struct language **language, sbr_error *err)
{
    scoped_free const char **names = calloc(req->n_files + 1, sizeof(*names));
    struct source_files files = { .read = read_file, .has = has_file, .context = req };
    size_t at;

    if (!names)
        return err_set_oom(err, "program");
    for (size_t i = 0; i < req->n_files; i++)
        names[i] = req->files[i].path;
    at = source_choose_main(names, req->n_files, &files, *language, language);
    if (at == req->n_files)
        return 0;
    put_first(req, at);
    return 1;
}

const char *source_below(const char *dir, const char *path)
{
    size_t len = strlen(dir);
    char dots[3] = "./";

    while (!strncmp(path, dots, 2) && strncmp(dir, dots, 2) != 0)
        path += 2;
    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (!strncmp(path, dir, len) && path[len] == '/')
        return path + len + strspn(path + len, "/");
    return NULL;
}

/* --file names a file of the directory: that is the program.  1: it does. */
static int take_named_main(struct options *o, const char *dir, const struct language **language)
{
    const char *wanted = o->files.n ? source_below(dir, o->files.items[0]) : NULL;

    for (size_t i = 0; wanted && i < o->request->n_files; i++) {
        if (strcmp(o->request->files[i].path, wanted) != 0)
            continue;
        if (!*language)
            *language = language_for_extension(wanted);
        put_first(o->request, i);
        return *language != NULL;
    }
    return 0;
}

/* Names a file that could be the program, so that the words can be typed. */
static int refuse_directory(const struct options *o, const char *path,
                            const struct language *language, sbr_error *err)
{
    const char *example = NULL;
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    for (size_t i = 0; i < o->request->n_files; i++) {
        const char *file = o->request->files[i].path;
        const struct language *of = language_for_extension(file);

        if (of && (!language || of == language) && (!example || strcmp(file, example) < 0))
            example = file;
    }
    if (example)
        return err_set(err, SBR_E_INVALID, "program",
                       "'%.150s' has no main file such as %s; name one of its files: --file "
                       "%.*s/%.100s",
                       path, language && language->mains.n ? language->mains.at[0] : "main.py",
                       (int)(len < 150 ? len : 150), path, example);
    return err_set(err, SBR_E_INVALID, "program",
                   "'%.200s' has no file in a language that `sandbox-run languages` lists", path);
}

/* Files that are too many or too large for a request need not be copied. */
static int refuse_size(const char *path, sbr_error *err)
{
    sbr_error why = *err;

    if (strcmp(why.stage, "request") != 0)
        return err->code;
    return err_set(err, why.code, "program", "%.150s; --project %.100s shows them in place",
                   why.message, path);
}

int source_load_directory(struct options *o, const char *path, sbr_error *err)
{
    const struct language *language = o->lang ? language_find(o->lang) : NULL;
    scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct exclude rules;
    struct place top = { .rules = &rules, .fd = fd, .path = "" };
    int r;

    if (fd < 0)
        return err_set_errno(err, "program", "cannot read the directory '%.200s'", path);
    r = project_excludes_open(fd, o->request, &rules, err);
    if (r == 0 && add_tree(o->request, &top, err) < 0)
        r = refuse_size(path, err);
    exclude_done(&rules);
    if (r < 0)
        return r;
    if (o->lang && !language) /* the planner reports what is wrong with the name */
        return request_set_text(&o->request->language, o->lang, err);
    r = take_named_main(o, path, &language);
    if (r == 0)
        r = put_main_first(o->request, &language, err);
    if (r < 0)
        return r;
    if (r > 0 && language)
        return request_set_text(&o->request->language, o->lang ? o->lang : language->name, err);
    return refuse_directory(o, path, language, err);
}
