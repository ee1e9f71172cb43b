/* --project: a program that lies in the project runs where it stands; another one is laid over it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "cli/host_path.h"
#include "cli/source.h"
#include "plan/language.h"

/* What follows the directory in a path below it; NULL: it is not below it. */
static const char *below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len && dir[len - 1] == '/')
        len--;
    if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    return path[len] ? path + len + 1 : path + len;
}

static bool has_dots(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 2, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

/* Whether the name itself says that the file is the project's, wherever it leads. */
static bool names_project(const sbr_request *req, const char *real_project, const char *path)
{
    char here[PATH_MAX], full[2 * PATH_MAX] = "";

    if (has_dots(path))
        return false;
    while (!strncmp(path, "./", 2))
        path += 2;
    if (path[0] == '/')
        snprintf(full, sizeof(full), "%s", path);
    else if (getcwd(here, sizeof(here)))
        snprintf(full, sizeof(full), "%s/%s", here, path);
    return below(full, real_project) || below(full, req->project);
}

int source_in_project(const struct options *o, const char *path, char **ret, sbr_error *err)
{
    char project[PATH_MAX], real[PATH_MAX];
    const char *rest;

    *ret = NULL;
    if (!o->request->project || !realpath(o->request->project, project) || !realpath(path, real))
        return 0; /* what is missing is told by who reads it */
    rest = below(real, project);
    if (!rest && names_project(o->request, project, path))
        return err_set(err, SBR_E_INVALID, "program",
                       "'%.150s' leads out of the project, to '%.150s'; name that one, or put the "
                       "file into the project",
                       path, real);
    if (!rest)
        return 0;
    *ret = strdup(rest);
    return *ret ? 1 : err_set_oom(err, "program");
}

static bool is_file(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Names of a directory are asked one by one until the first in their order is found. */
struct search {
    const char *pattern;             /* NULL: by the language's extensions */
    const struct language *language; /* NULL: any                          */
    char *found;
    bool several;
};

static bool is_sought(const struct search *search, const char *name)
{
    if (search->pattern)
        return fnmatch(search->pattern, name, FNM_PATHNAME) == 0;
    return language_for_extension(name) == search->language;
}

static int search_names(int dir_fd, struct search *search, sbr_error *err)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    if (!dir)
        return err_set_errno(err, "program", "cannot read the project");
    while ((entry = readdir(dir))) {
        if (!is_sought(search, entry->d_name) || !is_file(dir_fd, entry->d_name))
            continue;
        search->several = search->found != NULL;
        if (search->found && strcmp(entry->d_name, search->found) > 0)
            continue;
        free(search->found);
        search->found = strdup(entry->d_name);
        if (!search->found)
            return err_set_oom(err, "program");
    }
    return 0;
}

/* The first of the language's usual names that is there; *ret stays NULL when none is. */
static int find_usual(int dir_fd, const struct language *language, char **ret, sbr_error *err)
{
    for (unsigned int i = 0; !*ret && i < language->mains.n; i++) {
        struct search search = { .pattern = language->mains.at[i] };

        if (strpbrk(search.pattern, "*?[")) {
            if (search_names(dir_fd, &search, err) < 0)
                return err->code;
            *ret = search.found;
        } else if (is_file(dir_fd, search.pattern)) {
            *ret = strdup(search.pattern);
        }
    }
    return 0;
}

/* The only file in the language.  A compiler finds the place to start by itself: for it the first will do. */
static int find_only(int dir_fd, const struct language *language, char **ret, sbr_error *err)
{
    struct search search = { .language = language };

    if (search_names(dir_fd, &search, err) < 0)
        return err->code;
    if (search.several && !language->compile.run.n) {
        free(search.found);
        search.found = NULL;
    }
    *ret = search.found;
    return 0;
}

typedef int find_main(int dir_fd, const struct language *language, char **ret, sbr_error *err);

/* By a telling name, else the only program that is there. */
static int find_in(int dir_fd, const struct language *wanted, char **ret,
                   const struct language **ret_language, sbr_error *err)
{
    static find_main *const ways[] = { find_usual, find_only };
    const struct language *language;

    for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
        for (size_t i = 0; (language = language_at(i)); i++) {
            if (wanted && language != wanted)
                continue;
            if (ways[way](dir_fd, language, ret, err) < 0)
                return err->code;
            if (*ret && (wanted || language_for_extension(*ret) == language)) {
                *ret_language = language;
                return 0;
            }
            free(*ret);
            *ret = NULL;
        }
    }
    return 0;
}

int source_find_main(struct options *o, const char *dir, sbr_error *err)
{
    const struct language *language = NULL, *wanted = o->lang ? language_find(o->lang) : NULL;
    scoped_free char *name = NULL, *path = NULL;
    scoped_fd int fd = -1;

    if (o->lang && !wanted) /* the planner says what is wrong with the name */
        return request_set_text(&o->request->language, o->lang, err);
    if (asprintf(&path, "%s/%s", o->request->project, dir) < 0)
        return err_set_oom(err, "program");
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) /* the sentence about the project itself is the executor's */
        return *dir ? err_set_errno(err, "program", "cannot read the directory '%.200s'", path) : 0;
    if (find_in(fd, wanted, &name, &language, err) < 0)
        return err->code;
    if (!name || !language)
        return err_set(err, SBR_E_INVALID, "program",
                       "'%.150s' has no main file such as %s; name the program: a file, --code "
                       "TEXT, or - for stdin",
                       path, wanted && wanted->mains.n ? wanted->mains.at[0] : "main.py");
    free(take_ptr(path));
    if (asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0)
        return err_set_oom(err, "program");
    if (request_set_text(&o->request->language, o->lang ? o->lang : language->name, err) < 0)
        return err->code;
    return request_set_program(o->request, path, err);
}
