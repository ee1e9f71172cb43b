#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "model/limits.h"
#include "workspace/workspace_internal.h"

#define ATTEMPTS 8

static int damaged(const char *name, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "workspace",
                   "the workspace '%s' is damaged: %s; `sandbox-run workspace rm %s` removes it",
                   name, what, name);
}

/* 1: locked; 0: somebody has it; -1: errno. */
static int lock_file(int dir_fd, int *ret_fd)
{
    scoped_fd int fd =
        openat(dir_fd, NAMED_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    int r;

    if (fd < 0)
        return -1;
    do
        r = flock(fd, LOCK_EX | LOCK_NB);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return errno == EWOULDBLOCK ? 0 : -1;
    *ret_fd = take_fd(fd);
    return 1;
}

/* Somebody may have removed the directory between its opening and its locking. */
static bool is_still(int parent_fd, const char *name, int dir_fd)
{
    struct stat ours, there;

    return fstat(dir_fd, &ours) == 0 &&
           fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int lock_error(const char *name, sbr_error *err)
{
    if (errno == ENOENT)
        return err_set(
            err, SBR_E_NOT_FOUND, "workspace",
            "there is no workspace '%s'; `sandbox-run workspace list` shows what there is", name);
    if (errno == ENOTDIR || errno == ELOOP)
        return damaged(name, "it is no directory", err);
    return err_set_errno(err, "workspace", "cannot open the workspace '%s'", name);
}

int named_lock(const struct state_dir *workspaces, const char *name, int *ret_dir_fd,
               int *ret_lock_fd, sbr_error *err)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        /* Who only looks holds it for an instant. */
        const struct timespec instant = { .tv_nsec = 200000 };
        scoped_fd int dir_fd = named_open_dir(workspaces->fd, name);
        scoped_fd int lock_fd = -1;
        int r;

        if (dir_fd < 0)
            return lock_error(name, err);
        r = lock_file(dir_fd, &lock_fd);
        if (r < 0 && errno != ENOENT)
            return lock_error(name, err);
        if (r == 0)
            nanosleep(&instant, NULL);
        if (r == 1 && is_still(workspaces->fd, name, dir_fd)) {
            *ret_dir_fd = take_fd(dir_fd);
            *ret_lock_fd = take_fd(lock_fd);
            return 1;
        }
    }
    return 0;
}

int named_prepare(struct staging *staging, struct named_new *ret, sbr_error *err)
{
    scoped_fd int dir_fd = -1, tree_fd = -1;

    if (mkdirat(staging->fd, NAMED_NEW, 0700) == 0)
        dir_fd = named_open_dir(staging->fd, NAMED_NEW);
    if (dir_fd >= 0 && mkdirat(dir_fd, NAMED_TREE, 0700) == 0)
        tree_fd = named_open_dir(dir_fd, NAMED_TREE);
    if (tree_fd < 0 || fchmod(tree_fd, 0755) < 0)
        return err_set_errno(err, "workspace", "cannot make a workspace in '%s'", staging->path);
    *ret = (struct named_new){ take_fd(dir_fd), take_fd(tree_fd) };
    return 0;
}

int named_place(struct staging *staging, const struct state_dir *workspaces, const char *name,
                sbr_error *err)
{
    long r = syscall(SYS_renameat2, staging->fd, NAMED_NEW, workspaces->fd, name, RENAME_NOREPLACE);

    /* A file system that knows no flags: what is there has a `tree` in it, so it is not replaced either. */
    if (r < 0 && (errno == EINVAL || errno == ENOSYS))
        r = renameat(staging->fd, NAMED_NEW, workspaces->fd, name);
    if (r == 0)
        return 1;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return 0;
    return err_set_errno(err, "workspace", "cannot make the workspace '%s'", name);
}

/* 0 also when another run made it meanwhile. */
static int make(const struct state_dir *workspaces, const char *name, struct named_quota quota,
                sbr_error *err)
{
    struct named_info info = { .owner = geteuid(), .created = time(NULL) };
    struct named_new new = { -1, -1 };
    struct staging staging;
    int r;

    info.quota_bytes = quota.bytes ? quota.bytes : limit_defs[SBR_DISK_BYTES].preset;
    info.quota_inodes = quota.inodes ? quota.inodes : limit_defs[SBR_INODES].preset;
    if (staging_open(&staging, err) < 0)
        return err->code;
    r = named_prepare(&staging, &new, err);
    if (r == 0)
        r = named_meta_write(new.dir_fd, &info, err);
    if (r == 0)
        r = named_place(&staging, workspaces, name, err);
    scope_close_fd(&new.dir_fd);
    scope_close_fd(&new.tree_fd);
    staging_discard(&staging);
    return r < 0 ? r : 0;
}

/* 1 or 0 as named_lock.  Without `quota` none is made. */
static int lock_or_make(const struct state_dir *workspaces, const struct named_quota *quota,
                        struct named *named, sbr_error *err)
{
    const char *name = named->info.name;
    int r = named_lock(workspaces, name, &named->dir_fd, &named->lock_fd, err);

    if (r != SBR_E_NOT_FOUND || !quota)
        return r;
    if (make(workspaces, name, *quota, err) < 0)
        return err->code;
    return named_lock(workspaces, name, &named->dir_fd, &named->lock_fd, err);
}

static int check_owner(const struct named *named, sbr_error *err)
{
    struct stat st;

    if (fstat(named->dir_fd, &st) < 0)
        return err_set_errno(err, "workspace", "cannot open the workspace '%s'", named->info.name);
    if (st.st_uid != geteuid() || named->info.owner != st.st_uid)
        return err_set(err, SBR_E_DENIED, "workspace",
                       "the workspace '%s' belongs to uid %u, not to you", named->info.name,
                       st.st_uid != geteuid() ? st.st_uid : named->info.owner);
    return 0;
}

static int read_parts(struct named *named, sbr_error *err)
{
    int r = named_meta_read(named->dir_fd, &named->info, err);

    if (r == 0)
        return damaged(named->info.name, "its description is not whole", err);
    if (r < 0 || check_owner(named, err) < 0)
        return err->code;
    named->tree_fd = named_open_dir(named->dir_fd, NAMED_TREE);
    if (named->tree_fd < 0)
        return damaged(named->info.name, "its tree cannot be opened", err);
    return named_finish_pending(named, err);
}

/* The time of the description is when it was last used. */
static int set_quota(struct named *named, struct named_quota quota, sbr_error *err)
{
    struct named_info new = named->info;

    new.quota_bytes = quota.bytes ? quota.bytes : new.quota_bytes;
    new.quota_inodes = quota.inodes ? quota.inodes : new.quota_inodes;
    if (new.quota_bytes == named->info.quota_bytes &&new.quota_inodes == named->info.quota_inodes) {
        (void)utimensat(named->dir_fd, NAMED_META, NULL, AT_SYMLINK_NOFOLLOW);
        return 0;
    }
    if (named_check_fits(&new, err) < 0)
        return err->code;
    named->info = new;
    return named_meta_write(named->dir_fd, &new, err);
}

int named_open(const char *name, bool may_make, struct named_quota quota, struct named *ret,
               sbr_error *err)
{
    struct named named = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    struct state_dir workspaces;
    int r;

    if (named_check_name(name, err) < 0)
        return err->code;
    r = state_open(STATE_WORKSPACES, may_make, &workspaces, err);
    if (r < 0)
        return r;
    if (r == 0) {
        errno = ENOENT;
        return lock_error(name, err);
    }
    snprintf(named.info.name, sizeof(named.info.name), "%s", name);
    if (snprintf(named.tree, sizeof(named.tree), "%s/%s/" NAMED_TREE, workspaces.path, name) >=
        (int)sizeof(named.tree))
        r = err_set(err, SBR_E_INVALID, "workspace", "the path of the state directory is too long");
    else
        r = lock_or_make(&workspaces, may_make ? &quota : NULL, &named, err);
    state_close(&workspaces);
    if (r == 1 && (read_parts(&named, err) < 0 || set_quota(&named, quota, err) < 0))
        r = err->code;
    if (r == 1)
        *ret = named;
    else
        named_close(&named);
    return r;
}

void named_close(struct named *named)
{
    scope_close_fd(&named->tree_fd);
    scope_close_fd(&named->dir_fd);
    scope_close_fd(&named->lock_fd); /* last: it is ours until now */
    named->tree_fd = named->dir_fd = named->lock_fd = -1;
}
