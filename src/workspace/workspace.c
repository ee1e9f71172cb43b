#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/lock_file.h"
#include "model/limits.h"
#include "workspace/workspace_internal.h"

#define ATTEMPTS 8

static int damaged(const char *name, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "workspace",
                   "the workspace '%s' is damaged: %s; `sandbox-run workspace rm %s` removes it",
                   name, what, name);
}

/* False when another process removed the directory after we opened it and before we locked it. */
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

int workspace_lock(const struct state_dir *workspaces, const char *name, int *ret_dir_fd,
                   int *ret_lock_fd, sbr_error *err)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        /* `workspace list` holds the lock for an instant. */
        const struct timespec instant = { .tv_nsec = 200000 };
        scoped_fd int dir_fd = workspace_open_dir(workspaces->fd, name);
        scoped_fd int lock_fd = -1;
        int r;

        if (dir_fd < 0)
            return lock_error(name, err);
        r = lock_file_open(dir_fd, WORKSPACE_LOCK, &lock_fd);
        if (r < 0 && errno != ENOENT)
            return lock_error(name, err);
        if (r == LOCK_FILE_BUSY)
            nanosleep(&instant, NULL);
        if (r == LOCK_FILE_HELD && is_still(workspaces->fd, name, dir_fd)) {
            *ret_dir_fd = take_fd(dir_fd);
            *ret_lock_fd = take_fd(lock_fd);
            return WORKSPACE_HELD;
        }
    }
    return WORKSPACE_BUSY;
}

int workspace_prepare(struct staging *staging, struct workspace_new *ret, sbr_error *err)
{
    scoped_fd int dir_fd = -1, tree_fd = -1;

    if (mkdirat(staging->fd, WORKSPACE_NEW, 0700) == 0)
        dir_fd = workspace_open_dir(staging->fd, WORKSPACE_NEW);
    if (dir_fd >= 0 && mkdirat(dir_fd, WORKSPACE_TREE, 0700) == 0)
        tree_fd = workspace_open_dir(dir_fd, WORKSPACE_TREE);
    if (tree_fd < 0 || fchmod(tree_fd, 0755) < 0)
        return err_set_errno(err, "workspace", "cannot make a workspace in '%s'", staging->path);
    *ret = (struct workspace_new){ take_fd(dir_fd), take_fd(tree_fd) };
    return 0;
}

int workspace_place(struct staging *staging, const struct state_dir *workspaces, const char *name,
                    sbr_error *err)
{
    long r =
        syscall(SYS_renameat2, staging->fd, WORKSPACE_NEW, workspaces->fd, name, RENAME_NOREPLACE);

    /* Some file systems know no flags.  A workspace of that name has a `tree`, so renameat does not
     * replace it either. */
    if (r < 0 && (errno == EINVAL || errno == ENOSYS))
        r = renameat(staging->fd, WORKSPACE_NEW, workspaces->fd, name);
    if (r == 0)
        return 1;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return 0;
    return err_set_errno(err, "workspace", "cannot make the workspace '%s'", name);
}

/* Returns 0 also when another run has made the workspace meanwhile. */
static int make(const struct state_dir *workspaces, const char *name, struct workspace_quota quota,
                sbr_error *err)
{
    struct workspace_info info = { .owner = geteuid(), .created = time(NULL) };
    struct workspace_new made = { -1, -1 };
    struct staging staging;
    int r;

    info.quota_bytes = quota.bytes ? quota.bytes : limit_defs[SBR_DISK_BYTES].preset;
    info.quota_inodes = quota.inodes ? quota.inodes : limit_defs[SBR_INODES].preset;
    if (staging_open(&staging, err) < 0)
        return err->code;
    r = workspace_prepare(&staging, &made, err);
    if (r == 0)
        r = workspace_meta_write(made.dir_fd, &info, err);
    if (r == 0)
        r = workspace_place(&staging, workspaces, name, err);
    scope_close_fd(&made.dir_fd);
    scope_close_fd(&made.tree_fd);
    staging_discard(&staging);
    return r < 0 ? r : 0;
}

/* Returns what workspace_lock does.  Without `quota` no workspace is made. */
static int lock_or_make(const struct state_dir *workspaces, const struct workspace_quota *quota,
                        struct workspace *workspace, sbr_error *err)
{
    const char *name = workspace->info.name;
    int r = workspace_lock(workspaces, name, &workspace->dir_fd, &workspace->lock_fd, err);

    if (r != SBR_E_NOT_FOUND || !quota)
        return r;
    if (make(workspaces, name, *quota, err) < 0)
        return err->code;
    return workspace_lock(workspaces, name, &workspace->dir_fd, &workspace->lock_fd, err);
}

static int check_owner(const struct workspace *workspace, sbr_error *err)
{
    struct stat st;

    if (fstat(workspace->dir_fd, &st) < 0)
        return err_set_errno(err, "workspace", "cannot open the workspace '%s'",
                             workspace->info.name);
    if (st.st_uid != geteuid() || workspace->info.owner != st.st_uid)
        return err_set(err, SBR_E_DENIED, "workspace",
                       "the workspace '%s' belongs to uid %u, not to you", workspace->info.name,
                       st.st_uid != geteuid() ? st.st_uid : workspace->info.owner);
    return 0;
}

static int read_parts(struct workspace *workspace, sbr_error *err)
{
    int r = workspace_meta_read(workspace->dir_fd, &workspace->info, err);

    if (r == 0)
        return damaged(workspace->info.name, "its description is not whole", err);
    if (r < 0 || check_owner(workspace, err) < 0)
        return err->code;
    workspace->tree_fd = workspace_open_dir(workspace->dir_fd, WORKSPACE_TREE);
    if (workspace->tree_fd < 0)
        return damaged(workspace->info.name, "its tree cannot be opened", err);
    return workspace_finish_pending(workspace, err);
}

/* The modification time of the description is the time of the last use. */
static int set_quota(struct workspace *workspace, struct workspace_quota quota, sbr_error *err)
{
    struct workspace_info wanted = workspace->info;

    wanted.quota_bytes = quota.bytes ? quota.bytes : wanted.quota_bytes;
    wanted.quota_inodes = quota.inodes ? quota.inodes : wanted.quota_inodes;
    if (wanted.quota_bytes == workspace->info.quota_bytes &&
        wanted.quota_inodes == workspace->info.quota_inodes) {
        (void)utimensat(workspace->dir_fd, WORKSPACE_META, NULL, AT_SYMLINK_NOFOLLOW);
        return 0;
    }
    if (workspace_check_fits(&wanted, err) < 0)
        return err->code;
    workspace->info = wanted;
    return workspace_meta_write(workspace->dir_fd, &wanted, err);
}

int workspace_open(const char *name, bool may_make, struct workspace_quota quota,
                   struct workspace *ret, sbr_error *err)
{
    struct workspace workspace = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    struct state_dir workspaces;
    int r;

    if (workspace_check_name(name, err) < 0)
        return err->code;
    r = state_open(STATE_WORKSPACES, may_make, &workspaces, err);
    if (r < 0)
        return r;
    if (r == 0) {
        errno = ENOENT;
        return lock_error(name, err);
    }
    snprintf(workspace.info.name, sizeof(workspace.info.name), "%s", name);
    if (snprintf(workspace.tree, sizeof(workspace.tree), "%s/%s/" WORKSPACE_TREE, workspaces.path,
                 name) >= (int)sizeof(workspace.tree))
        r = err_set(err, SBR_E_INVALID, "workspace", "the path of the state directory is too long");
    else
        r = lock_or_make(&workspaces, may_make ? &quota : NULL, &workspace, err);
    state_close(&workspaces);
    if (r == WORKSPACE_HELD &&
        (read_parts(&workspace, err) < 0 || set_quota(&workspace, quota, err) < 0))
        r = err->code;
    if (r == WORKSPACE_HELD)
        *ret = workspace;
    else
        workspace_close(&workspace);
    return r;
}

void workspace_close(struct workspace *workspace)
{
    scope_close_fd(&workspace->tree_fd);
    scope_close_fd(&workspace->dir_fd);
    scope_close_fd(&workspace->lock_fd); /* last: the workspace is ours until now */
    workspace->tree_fd = workspace->dir_fd = workspace->lock_fd = -1;
}
