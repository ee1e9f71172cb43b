#include "toolchain/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

#define MANIFEST_MAX (16 << 20)
#define CODE_PREFIX "sandbox_run_"

static void files_done(struct request_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(files[i].path);
        free(files[i].data);
    }
    free(files);
}

/* 1: read; 0: there is no such file, or it is a link or special file, which is not read. */
static int read_manifest(int project_fd, const char *name, struct request_file *ret, sbr_error *err)
{
    scoped_fd int fd = openat(project_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct request_file file = { 0 };
    struct stat st;

    if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "dependencies", "cannot read the project's %s", name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (fd_read_text(fd, MANIFEST_MAX, &file.data, &file.len, err) < 0)
        return err->code;
    file.path = strdup(name);
    if (!file.path) {
        free(file.data);
        return err_set_oom(err, "dependencies");
    }
    *ret = file;
    return 1;
}

/* Dependencies that the project has installed itself are used, and no others are installed. */
static bool has_its_own(int project_fd, const struct language *language)
{
    struct stat st;

    return language->deps_link &&
           fstatat(project_fd, language->deps_link, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

int project_manifests(int project_fd, const struct language *language, struct request_file **ret,
                      size_t *ret_n, sbr_error *err)
{
    const struct stage_def *def = &language->install;
    size_t n = 0, most = def->n_manifests + def->locks.n;
    struct request_file *files;

    *ret = NULL;
    *ret_n = 0;
    if (!def->run.n || !most || has_its_own(project_fd, language))
        return 0;
    files = calloc(most, sizeof(*files));
    if (!files)
        return err_set_oom(err, "dependencies");
    for (size_t i = 0; i < most; i++) {
        const char *name =
            i < def->n_manifests ? def->manifests[i].file : def->locks.at[i - def->n_manifests];
        int r = read_manifest(project_fd, name, &files[n], err);

        if (r < 0) {
            files_done(files, n);
            return r;
        }
        n += (size_t)r;
    }
    *ret = files;
    *ret_n = n;
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
    struct stat st;

    if (fstatat(project_fd, path, &st, 0) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "program", "there is no '%.200s' in the project",
                       path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "program", "'%.200s' in the project is not a file",
                       path);
    return 0;
}
