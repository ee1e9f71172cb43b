/* Files in the work directory of a living session.  The program may change everything there at any
 * time: no link is followed, nothing but regular files is opened, and root acts as the program's
 * user. */
#include "session/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/text.h"
#include "changes/beneath.h"
#include "changes/copy_tree.h"
#include "changes/node.h"

#define FILE_MAX ((size_t)64 << 20)
#define ENTRIES_MAX 2000
#define DEPTH_MAX 16
#define PATH_SIZE 1024

int session_top_open(struct session *s, const char *name, struct session_top *ret, sbr_error *err)
{
    unsigned int uid, gid;

    ret->fd = runner_open_top(s->job, name, &uid, &gid);
    if (ret->fd < 0 && (errno == ENOENT || errno == ESRCH)) /* its first process is gone */
        return err_set(err, SBR_E_SYSTEM, "session",
                       "the sandbox of the session ended, so its /%s cannot be opened; "
                       "`sandbox-run session list` says why",
                       name);
    if (ret->fd < 0)
        return err_set_errno(err, "session", "cannot open /%s of the session", name);
    if (geteuid() == 0) {
        setfsgid(gid);
        setfsuid(uid);
    }
    return 0;
}

void session_top_close(struct session_top *top)
{
    close(top->fd);
    if (geteuid() == 0) {
        setfsuid(0);
        setfsgid(0);
    }
}

static int check_path(const char *path, sbr_error *err)
{
    if (text_is_safe_relative_path(path, PATH_SIZE - 1))
        return 0;
    return err_set(err, SBR_E_INVALID, "session",
                   "'%.100s' is no path below /work; give a relative one without '..'", path);
}

static int cannot(const char *what, const char *path, sbr_error *err)
{
    bool missing = errno == ENOENT;

    err_set_errno(err, "session", "cannot %s '%.200s' in the session's /work", what, path);
    if (missing)
        err->code = SBR_E_NOT_FOUND;
    return err->code;
}

static void list_dir(int dir_fd, const char *prefix, unsigned int depth, json_t *files)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(dir_fd, &names) < 0)
        return;
    for (size_t i = 0; i < names.n && json_array_size(files) < ENTRIES_MAX; i++) {
        char path[PATH_SIZE], shown[PATH_SIZE];
        struct stat st;
        scoped_fd int below = -1;

        if (snprintf(path, sizeof(path), "%s%s", prefix, names.names[i]) >= PATH_SIZE - 1 ||
            fstatat(dir_fd, names.names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        text_copy_visibly(shown, sizeof(shown), path, strlen(path));
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
            below = openat(dir_fd, names.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            (void)!snprintf(path + strlen(path), 2, "/");
            if (below >= 0)
                list_dir(below, path, depth + 1, files);
        } else {
            json_array_append_new(files, json_pack("{s:s, s:I, s:b}", "path", shown, "size",
                                                   (json_int_t)st.st_size, "regular",
                                                   S_ISREG(st.st_mode) != 0));
        }
    }
}

json_t *session_files_list(struct session *s, sbr_error *err)
{
    json_t *files;
    struct session_top work;
    int fd;

    if (session_top_open(s, "work", &work, err) < 0)
        return NULL;
    fd = openat(work.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files = json_array();
    if (fd >= 0) {
        list_dir(fd, "", 0, files);
        close(fd);
    }
    session_top_close(&work);
    return json_pack("{s:b, s:o}", "complete", json_array_size(files) < ENTRIES_MAX, "files",
                     files);
}

static int read_file(const struct session_top *work, const char *path, char **ret, size_t *ret_len,
                     sbr_error *err)
{
    scoped_fd int fd = node_open(work->fd, path, O_RDONLY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return cannot("read", path, err);
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX)
        return err_set(err, SBR_E_INVALID, "session",
                       "'%.200s' is no regular file of at most 64 MiB", path);
    return fd_read_text(fd, FILE_MAX, ret, ret_len, err);
}

json_t *session_files_get(struct session *s, const char *path, sbr_error *err)
{
    scoped_free char *data = NULL, *base64 = NULL;
    struct session_top work;
    size_t len = 0;
    int r;

    if (check_path(path, err) < 0 || session_top_open(s, "work", &work, err) < 0)
        return NULL;
    r = read_file(&work, path, &data, &len, err);
    session_top_close(&work);
    if (r < 0)
        return NULL;
    base64 = encoding_to_base64(data ? data : "", len);
    if (!base64)
        err_set_oom(err, "session");
    return base64 ? json_pack("{s:s, s:I, s:s}", "path", path, "size", (json_int_t)len, "data_b64",
                              base64)
                  : NULL;
}

/* What fails here fails again, with its reason, when the file itself is opened. */
static void make_parents(const struct session_top *work, const char *path)
{
    char prefix[PATH_SIZE];

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *name = NULL;
        scoped_fd int dir = -1;

        snprintf(prefix, sizeof(prefix), "%.*s", (int)(slash - path), path);
        dir = beneath_parent(work->fd, prefix, &name);
        if (dir >= 0)
            (void)!mkdirat(dir, name, 0755);
    }
}

/* An empty file, or negative. */
static int make_file(const struct session_top *top, const char *path, sbr_error *err)
{
    const char *name = NULL;
    scoped_fd int dir = -1;
    scoped_fd int fd = -1;
    struct stat st;

    make_parents(top, path);
    dir = beneath_parent(top->fd, path, &name);
    if (dir >= 0)
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd < 0 || fstat(fd, &st) < 0)
        return cannot("write", path, err);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "session", "'%.200s' is no regular file", path);
    if (ftruncate(fd, 0) < 0)
        return cannot("write", path, err);
    return take_fd(fd);
}

static int write_file(const struct session_top *top, const char *path, const char *data, size_t len,
                      sbr_error *err)
{
    scoped_fd int fd = make_file(top, path, err);

    if (fd < 0)
        return err->code;
    return fd_write_all(fd, data, len) < 0 ? cannot("write", path, err) : 0;
}

json_t *session_files_put(struct session *s, const char *path, const char *base64, sbr_error *err)
{
    scoped_free char *data = NULL;
    struct session_top work;
    size_t len = 0;
    int r;

    if (encoding_from_base64(base64, &data, &len) < 0) {
        err_set(err, SBR_E_INVALID, "session", "\"data_b64\" is no base64");
        return NULL;
    }
    if (len > FILE_MAX) {
        err_set(err, SBR_E_INVALID, "session", "'%.200s' has more than 64 MiB", path);
        return NULL;
    }
    if (check_path(path, err) < 0 || session_top_open(s, "work", &work, err) < 0)
        return NULL;
    r = write_file(&work, path, data, len, err);
    session_top_close(&work);
    return r < 0 ? NULL : json_pack("{s:s, s:I}", "path", path, "size", (json_int_t)len);
}

int session_files_place(struct session *s, const char *path, const void *data, size_t len,
                        sbr_error *err)
{
    struct session_top tmp;
    int r;

    if (check_path(path, err) < 0 || session_top_open(s, "tmp", &tmp, err) < 0)
        return err->code;
    r = write_file(&tmp, path, data, len, err);
    session_top_close(&tmp);
    return r;
}

static int copy_to(const struct session_top *top, const char *path, int from_fd, uint64_t size,
                   sbr_error *err)
{
    scoped_fd int fd = make_file(top, path, err);
    struct copy_file how = { 0 };

    if (fd < 0)
        return err->code;
    return copy_file(from_fd, fd, size, &how) < 0 ? cannot("write", path, err) : 0;
}

int session_files_copy(struct session *s, const char *path, int from_fd, uint64_t size,
                       sbr_error *err)
{
    struct session_top tmp;
    int r;

    if (check_path(path, err) < 0 || session_top_open(s, "tmp", &tmp, err) < 0)
        return err->code;
    r = copy_to(&tmp, path, from_fd, size, err);
    session_top_close(&tmp);
    return r;
}

/* A file, a link or an empty directory. */
static int remove_file(const struct session_top *work, const char *path, sbr_error *err)
{
    const char *name;
    scoped_fd int dir = beneath_parent(work->fd, path, &name);

    if (dir < 0 ||
        (unlinkat(dir, name, 0) < 0 && (errno != EISDIR || unlinkat(dir, name, AT_REMOVEDIR) < 0)))
        return cannot("remove", path, err);
    return 0;
}

json_t *session_files_remove(struct session *s, const char *path, sbr_error *err)
{
    struct session_top work;
    int r;

    if (check_path(path, err) < 0 || session_top_open(s, "work", &work, err) < 0)
        return NULL;
    r = remove_file(&work, path, err);
    session_top_close(&work);
    return r < 0 ? NULL : json_pack("{s:s, s:b}", "path", path, "removed", 1);
}
