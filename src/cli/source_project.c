/* --project: a program in the project runs where it is; another one is added to the project. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "cli/source.h"
#include "cli/source_named.h"

#define NAMED_MAX (1 << 20) /* bytes of a file that names the main file */

/* The rest of the path below the directory; NULL: it is not below it. */
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

/* Whether the name is one in the project, also if it is a link that leads out of it. */
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
        return 0; /* source_load reports that it is missing */
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

int source_prefer_project(const struct options *o, const char *word, char **ret, sbr_error *err)
{
    *ret = NULL;
    if (!o->request->project || word[0] == '/' || access(word, F_OK) == 0)
        return 0;
    if (asprintf(ret, "%s/%s", o->request->project, word) < 0) {
        *ret = NULL;
        return err_set_oom(err, "program");
    }
    if (access(*ret, F_OK) != 0)
        free(take_ptr(*ret));
    return 0;
}

int source_free_name(const struct options *o, const char *name, char **ret, sbr_error *err)
{
    static const char prefix[] = "sandbox_run_"; /* as the code of a request */
    scoped_fd int fd =
        o->request->project ? open(o->request->project, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat st;

    *ret = NULL;
    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        *ret = strdup(name);
        return *ret ? 0 : err_set_oom(err, "program");
    }
    if (asprintf(ret, "%s%s", prefix, name) < 0) {
        *ret = NULL;
        return err_set_oom(err, "program");
    }
    if (fstatat(fd, *ret, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    free(take_ptr(*ret));
    return err_set(err, SBR_E_INVALID, "program",
                   "the project has both a '%.150s' and a '%s%.150s', so there is no name left "
                   "for yours; give it another name, or name the project's",
                   name, prefix, name);
}

static bool is_file(int dir_fd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_REG;
    return fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

struct names {
    char **at;
    size_t n;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
}

static int names_add(struct names *names, const char *name, sbr_error *err)
{
    char **grown = realloc(names->at, (names->n + 1) * sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "program");
    names->at = grown;
    grown[names->n] = strdup(name);
    return grown[names->n++] ? 0 : err_set_oom(err, "program");
}

/* Usual main files that lie deeper, such as src/main.rs. */
static int add_deep_mains(int dir_fd, const struct language *language, struct names *names,
                          sbr_error *err)
{
    struct stat st;

    for (unsigned int i = 0; i < language->mains.n; i++) {
        const char *main = language->mains.at[i];
        scoped_fd int fd = strchr(main, '/') ? inode_open_regular(dir_fd, main, &st) : -1;

        if (fd >= 0 && names_add(names, main, err) < 0)
            return err->code;
    }
    return 0;
}

static char *read_named(void *dir_fd, const char *path)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(*(int *)dir_fd, path, &st);
    char *text = NULL;
    sbr_error err;
    size_t len;

    return fd >= 0 && fd_read_text(fd, NAMED_MAX, &text, &len, &err) == 0 ? text : NULL;
}

static bool has_named(void *dir_fd, const char *path)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(*(int *)dir_fd, path, &st);

    return fd >= 0;
}

/* A main file that the package names may lie anywhere in it. */
static int add_named(const struct language *language, const struct source_files *files,
                     struct names *names, sbr_error *err)
{
    char path[SOURCE_NAMED_SIZE];

    return source_named_main(language, files, path, sizeof(path)) ? names_add(names, path, err) : 0;
}

/* The regular files of a directory. */
static int read_names(int dir_fd, struct names *names, sbr_error *err)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    if (!dir)
        return err_set_errno(err, "program", "cannot read the project");
    while ((entry = readdir(dir)))
        if (is_file(dir_fd, entry) && names_add(names, entry->d_name, err) < 0)
            return err->code;
    return 0;
}

/* *ret stays NULL when there is no main file. */
static int find_in(int dir_fd, const struct language *wanted, char **ret,
                   const struct language **ret_language, sbr_error *err)
{
    struct source_files files = { .read = read_named, .has = has_named, .context = &dir_fd };
    struct names names = { 0 };
    int r = read_names(dir_fd, &names, err);
    const struct language *language;
    size_t at;

    for (size_t i = 0; r == 0 && (language = language_at(i)); i++) {
        r = add_deep_mains(dir_fd, language, &names, err);
        if (r == 0)
            r = add_named(language, &files, &names, err);
    }
    at = names.n;
    if (r == 0)
        at = source_choose_main((const char *const *)names.at, names.n, &files, wanted,
                                ret_language);
    if (at < names.n) {
        *ret = names.at[at];
        names.at[at] = NULL;
    }
    names_done(&names);
    return r;
}

int source_find_main(struct options *o, const char *dir, sbr_error *err)
{
    const struct language *language = NULL, *wanted = o->lang ? language_find(o->lang) : NULL;
    scoped_free char *name = NULL, *path = NULL;
    scoped_fd int top = open(o->request->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped_fd int fd = -1;

    if (o->lang && !wanted) /* the planner reports what is wrong with the name */
        return request_set_text(&o->request->language, o->lang, err);
    if (asprintf(&path, "%s/%s", o->request->project, dir) < 0)
        return err_set_oom(err, "program");
    fd = top >= 0 ? inode_open_beneath(top, *dir ? dir : ".", O_RDONLY | O_DIRECTORY, 0) : -1;
    if (fd < 0) /* the job reports a project that is missing */
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
