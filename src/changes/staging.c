#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/staging_dir.h"
#include "base/tree_remove.h"
#include "base/user_dir.h"
#include "changes/state_dir.h"

static int fill(struct state_dir *dir, struct staging *staging, sbr_error *err)
{
    staging->lock_fd = staging_dir_make(dir->fd, staging->id);
    if (staging->lock_fd < 0)
        return state_fail("write to", dir->path, err);
    snprintf(staging->path, sizeof(staging->path), "%.*s/%s", USER_DIR_SIZE + 40, dir->path,
             staging->id);
    /* Not a duplicate: the lock stays when this one is closed. */
    staging->fd = openat(staging->lock_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (staging->fd < 0) {
        state_fail("open", staging->path, err);
        staging_discard(staging);
        return err->code;
    }
    return 0;
}

int staging_open(struct staging *ret, sbr_error *err)
{
    struct staging staging = { .fd = -1, .lock_fd = -1 };
    struct state_dir dir;
    int r = state_open(STATE_STAGING, true, &dir, err);

    *ret = staging;
    if (r < 0)
        return r;
    staging_dir_sweep(dir.fd);
    r = fill(&dir, &staging, err);
    state_close(&dir);
    if (r == 0)
        *ret = staging;
    return r;
}

void staging_release(struct staging *staging)
{
    scope_close_fd(&staging->fd);
    scope_close_fd(&staging->lock_fd);
    *staging = (struct staging){ .fd = -1, .lock_fd = -1 };
}

void staging_discard(struct staging *staging)
{
    if (staging->lock_fd < 0 || !staging->path[0]) /* used up, or all zero */
        return;
    (void)tree_remove(AT_FDCWD, staging->path); /* or the next sweep does */
    staging_release(staging);
}
