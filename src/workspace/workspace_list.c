/* Named workspaces seen from outside a run: their list and their removal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/lock_file.h"
#include "workspace/workspace_internal.h"

static bool is_busy(int dir_fd)
{
    scoped_fd int fd =
        openat(dir_fd, WORKSPACE_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    return fd >= 0 && lock_file_is_held(fd);
}

static int inspect(const struct state_dir *workspaces, const char *name, struct workspace_info *ret,
                   sbr_error *err)
{
    scoped_fd int dir_fd = workspace_open_dir(workspaces->fd, name);
    struct stat st;
    int r = 0;

    *ret = (struct workspace_info){ 0 };
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    if (dir_fd >= 0) {
        r = workspace_meta_read(dir_fd, ret, err);
        ret->busy = is_busy(dir_fd);
    }
    if (r == 1 &&
        (fstatat(dir_fd, WORKSPACE_TREE, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)))
        r = 0;
    ret->damaged = r == 0;
    return r < 0 ? r : 0;
}

int workspace_list(workspace_visit *visit, void *context, sbr_error *err)
{
    struct state_dir workspaces;
    struct listing listing;
    int r = state_open(STATE_WORKSPACES, false, &workspaces, err);

    if (r <= 0)
        return r;
    r = listing_read(workspaces.fd, &listing) < 0 ? state_fail("read", workspaces.path, err) : 0;
    for (size_t i = 0; i < listing.n && r == 0; i++) {
        struct workspace_info info;

        if (!workspace_name_is_good(listing.names[i]))
            continue;
        r = inspect(&workspaces, listing.names[i], &info, err);
        if (r == 0)
            r = visit(context, &info);
    }
    listing_done(&listing);
    state_close(&workspaces);
    return r;
}

int workspace_busy(const char *name, sbr_error *err)
{
    return err_set(err, SBR_E_BUSY, "workspace",
                   "the workspace '%s' is in use by a run; try again when that is over", name);
}

static int move_away(const struct state_dir *workspaces, const char *name, sbr_error *err)
{
    struct staging staging;
    int r = 0;

    if (staging_open(&staging, err) < 0)
        return err->code;
    if (renameat(workspaces->fd, name, staging.fd, name) < 0)
        r = err_set_errno(err, "workspace", "cannot remove the workspace '%s'", name);
    staging_discard(&staging);
    return r;
}

static int remove_locked(const struct state_dir *workspaces, const char *name, sbr_error *err)
{
    scoped_fd int dir_fd = -1, lock_fd = -1;
    struct stat st;
    int r;

    /* Only a directory can be in use. */
    if (fstatat(workspaces->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
        return move_away(workspaces, name, err);
    r = workspace_lock(workspaces, name, &dir_fd, &lock_fd, err);
    if (r == WORKSPACE_BUSY)
        return workspace_busy(name, err);
    return r < 0 ? r : move_away(workspaces, name, err);
}

int workspace_remove(const char *name, sbr_error *err)
{
    struct state_dir workspaces;
    int r;

    if (workspace_check_name(name, err) < 0)
        return err->code;
    r = state_open(STATE_WORKSPACES, false, &workspaces, err);
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "workspace",
                       "there is no workspace '%s', and no other", name);
    if (r < 0)
        return r;
    r = remove_locked(&workspaces, name, err);
    state_close(&workspaces);
    return r;
}

int workspace_check(const char *name, sbr_error *err)
{
    struct workspace workspace;
    int r = workspace_open(name, false, (struct workspace_quota){ 0, 0 }, &workspace, err);

    if (r == WORKSPACE_BUSY)
        return err_set(err, SBR_E_BUSY, "workspace", "a run has the workspace; ask again");
    if (r == WORKSPACE_HELD)
        workspace_close(&workspace);
    return r < 0 ? r : 0;
}
