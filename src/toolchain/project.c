#include "toolchain/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/scope.h"
#include "base/walk.h"

#define MANIFESTS_MAX (16 << 20) /* bytes of all together */
#define CODE_PREFIX "sandbox_run_"
#define MEMBERS_MAX 1000 /* manifests below a manifest */
#define MEMBERS_DEPTH 8
#define MEMBERS_PATH 4096
#define MEMBERS_LOOKED 500000 /* entries of one search */

/* What was read so far. */
struct manifests {
    struct request_file *files;
    size_t n, bytes;
};

/* The search for manifests below one. */
struct member_search {
    const struct manifest *manifest;
    struct manifests *found;
    size_t looked;
};

static void manifests_done(struct manifests *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->files[i].path);
        free(list->files[i].data);
    }
    free(list->files);
    *list = (struct manifests){ 0 };
}

static int add_manifest(struct manifests *list, const char *path, struct request_file *file,
                        sbr_error *err)
{
    struct request_file *grown = realloc(list->files, (list->n + 1) * sizeof(*grown));

    if (grown)
        list->files = grown;
    file->path = strdup(path);
    if (!grown || !file->path) {
        free(file->path);
        free(file->data);
        return err_set_oom(err, "dependencies");
    }
    grown[list->n++] = *file;
    return 0;
}

/* No such file, a link or a special file: nothing is read. */
static int read_manifest(int dir_fd, const char *name, const char *path, struct manifests *list,
                         sbr_error *err)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, name, &st);
    struct request_file file = { 0 };

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ||
                   errno == EINVAL))
        return 0;
    if (fd < 0)
        return err_set_errno(err, "dependencies", "cannot read the project's %s", path);
    if ((uint64_t)st.st_size > MANIFESTS_MAX - list->bytes)
        return err_set(err, SBR_E_INVALID, "dependencies",
                       "the project's '%.200s' and what was read before it have more than %d MiB; "
                       "run a part of it",
                       path, MANIFESTS_MAX >> 20);
    if (fd_read_text(fd, MANIFESTS_MAX - list->bytes, &file.data, &file.len, err) < 0)
        return err->code;
    list->bytes += file.len;
    return add_manifest(list, path, &file, err);
}

/* Directories with results of builds have manifests that are not the project's. */
static bool is_for_results(const char *name)
{
    return name[0] == '.' || !strcmp(name, "target") || !strcmp(name, "node_modules");
}

static int visit_member(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct member_search *search = context;

    if (search->looked++ > MEMBERS_LOOKED)
        return err_set(err, SBR_E_INVALID, "dependencies",
                       "the project has more than %d files to look at for '%s'; run a part of it",
                       MEMBERS_LOOKED, search->manifest->file);
    if (S_ISDIR(entry->st.st_mode))
        return is_for_results(entry->name) ? WALK_SKIP : 0;
    if (entry->depth == 0 || strcmp(entry->name, search->manifest->file) != 0)
        return 0;
    if (search->found->n >= MEMBERS_MAX)
        return err_set(err, SBR_E_INVALID, "dependencies",
                       "the project has more than %d files named '%s'; run a part of it",
                       MEMBERS_MAX, entry->name);
    return read_manifest(entry->dir_fd, entry->name, entry->path, search->found, err);
}

/* `at` is the index of the manifest that may have members. */
static int read_members(int project_fd, const struct manifest *manifest, struct manifests *list,
                        size_t at, sbr_error *err)
{
    struct member_search search = { .manifest = manifest, .found = list };
    struct walk walk = {
        .visit = visit_member,
        .fail = walk_pass_over, /* What cannot be opened, or lies too deep, is not a member. */
        .context = &search,
        .stage = "dependencies",
        .max_depth = MEMBERS_DEPTH,
        .max_path = MEMBERS_PATH
    };

    if (at == list->n || !manifest_has_members(manifest, list->files[at].data))
        return 0;
    return walk_tree(project_fd, &walk, err);
}

/* Dependencies that the project has installed itself are used, and no others are installed. */
static bool has_its_own(int project_fd, const struct language *language)
{
    struct stat st;

    return language->deps_link &&
           fstatat(project_fd, language->deps_link, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static int read_manifests(int project_fd, const struct stage_def *def, struct manifests *list,
                          sbr_error *err)
{
    for (unsigned int i = 0; i < def->n_manifests; i++) {
        const struct manifest *manifest = &def->manifests[i];
        size_t at = list->n;

        if (read_manifest(project_fd, manifest->file, manifest->file, list, err) < 0 ||
            read_members(project_fd, manifest, list, at, err) < 0)
            return err->code;
    }
    for (unsigned int i = 0; i < def->locks.n; i++)
        if (read_manifest(project_fd, def->locks.at[i], def->locks.at[i], list, err) < 0)
            return err->code;
    return 0;
}

int project_manifests(int project_fd, const struct language *language, struct request_file **ret,
                      size_t *ret_n, sbr_error *err)
{
    const struct stage_def *def = &language->install;
    struct manifests list = { 0 };

    *ret = NULL;
    *ret_n = 0;
    if (!def->run.n || has_its_own(project_fd, language))
        return 0;
    if (read_manifests(project_fd, def, &list, err) < 0) {
        manifests_done(&list);
        return err->code;
    }
    *ret = list.files;
    *ret_n = list.n;
    return 0;
}

int project_code_name(int project_fd, const struct language *language, char *name, size_t size,
                      sbr_error *err)
{
    struct stat st;

    name[0] = '\0';
    if (fstatat(project_fd, language->source, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    snprintf(name, size, CODE_PREFIX "%s", language->source);
    if (fstatat(project_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(err, SBR_E_INVALID, "program",
                       "the project has both a '%s' and a '%s', so there is no name left for the "
                       "code; give it as a file with another name",
                       language->source, name);
    return 0;
}

int project_program(int project_fd, const char *path, sbr_error *err)
{
    scoped_fd int fd = inode_resolve(project_fd, path, O_PATH | O_CLOEXEC,
                                     RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    struct stat st;

    /* A link to the outside is none of the project: not even what it leads to is told. */
    if (fd < 0 && (errno == ENOSYS ? fstatat(project_fd, path, &st, AT_SYMLINK_NOFOLLOW) : -1) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "program", "there is no '%.200s' in the project",
                       path);
    if (fd >= 0 && fstat(fd, &st) < 0)
        return err_set_errno(err, "program", "cannot look at '%.200s' in the project", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "program", "'%.200s' in the project is not a file",
                       path);
    return 0;
}
