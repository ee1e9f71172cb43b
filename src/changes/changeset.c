/* A changeset is made in the staging directory and renamed: whole or not there at all.  It is a
 * user's work and cannot be made again, so it is flushed to the disk before the rename. */
#include "changes/changeset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listing.h"
#include "base/lock_file.h"
#include "base/text.h"
#include "base/tree_remove.h"
#include "changes/changeset_meta.h"
#include "changes/node.h"

#define LEAST_ID 4 /* digits of a shortened id */

/* Where the file of a rule without a directory lies below `tree`: files/RULE/PATH. */
static bool find_file(int tree_fd, const char *path, char *name, size_t size)
{
    for (unsigned int rule = 0; rule < OUTPUTS_MAX_RULES; rule++) {
        struct node_state seen;

        if (snprintf(name, size, "files/%u%s", rule, path) >= (int)size)
            return false;
        if (node_look(tree_fd, name, &seen) == 0 && seen.node.kind != NODE_NONE)
            return true;
    }
    return false;
}

static int name_files(int tree_fd, const char *kept_path, struct output_files *files,
                      sbr_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        struct output_file *f = &files->items[i];
        char name[4096 + 32];

        if (f->saved || f->skipped || !find_file(tree_fd, f->path, name, sizeof(name)))
            continue;
        f->saved = text_format("%s/" CHANGESET_TREE "/%s", kept_path, name);
        if (!f->saved)
            return err_set_oom(err, "state");
    }
    return 0;
}

/* What else a run needed there: uppers, copies. */
static void remove_others(int dir_fd)
{
    scoped_listing struct listing names = { 0 };

    (void)listing_read_at(dir_fd, ".", &names);
    for (size_t i = 0; i < names.n; i++)
        if (strcmp(names.names[i], CHANGESET_TREE) != 0)
            (void)tree_remove(dir_fd, names.names[i]);
}

static int commit(struct staging *staging, struct changeset *changeset, struct output_files *files,
                  sbr_error *err)
{
    scoped_fd int tree = -1;
    struct state_dir dir;
    char path[STATE_PATH_SIZE];
    int r = state_open(STATE_CHANGES, true, &dir, err);

    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "%.*s/%s", STATE_PATH_SIZE - ENCODING_ID_SIZE - 2, dir.path,
             staging->id);
    if (mkdirat(staging->fd, CHANGESET_TREE, 0700) == 0 || errno == EEXIST)
        tree = openat(staging->fd, CHANGESET_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = tree < 0 ? state_fail("write to", staging->path, err) : name_files(tree, path, files, err);
    if (r == 0) {
        changeset->files = *files;
        remove_others(staging->fd);
        if (changeset_meta_write(staging->fd, changeset) < 0 || syncfs(staging->fd) < 0 ||
            renameat(AT_FDCWD, staging->path, dir.fd, staging->id) < 0 || fsync(dir.fd) < 0)
            r = state_fail("keep the changes in", dir.path, err);
    }
    state_close(&dir);
    return r;
}

int changeset_commit(struct staging *staging, const struct changes *changes,
                     struct output_files *files, const char *about, sbr_error *err)
{
    struct output_files none = { 0 };
    struct changeset changeset = { .changes = *changes };
    struct timespec now;
    int r;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    changeset.created_ns = clock_ns(now);
    changeset.created = now.tv_sec;
    if (staging->fd < 0)
        return err_set(err, SBR_E_BUG, "state", "nothing is staged");
    text_copy_visibly(changeset.about, sizeof(changeset.about), about ? about : "",
                      about ? strlen(about) : 0);
    r = commit(staging, &changeset, files ? files : &none, err);
    if (r == 0)
        staging_release(staging);
    else
        staging_discard(staging);
    return r;
}

struct search {
    const char *prefix;
    char id[ENCODING_ID_SIZE];
    size_t found;
};

static int find_id(int dir_fd, struct search *search)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(dir_fd, &names) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.names[i];

        if (!encoding_is_hex(name, ENCODING_ID_SIZE - 1) ||
            strncmp(name, search->prefix, strlen(search->prefix)) != 0)
            continue;
        memcpy(search->id, name, sizeof(search->id));
        search->found++;
    }
    return 0;
}

/* The directory of changesets, and which of them `id` means. */
static int resolve(const char *id, struct state_dir *dir, struct search *search, sbr_error *err)
{
    size_t len = strlen(id);
    int r;

    *search = (struct search){ .prefix = id };
    if (len < LEAST_ID || len >= ENCODING_ID_SIZE || !encoding_is_hex(id, len))
        return err_set(err, SBR_E_INVALID, "state",
                       "'%.60s' is not the start of an id; `sandbox-run changes list` shows them",
                       id);
    r = state_open(STATE_CHANGES, false, dir, err);
    if (r == 1 && find_id(dir->fd, search) < 0)
        r = state_fail("read", dir->path, err);
    if (r < 0)
        return r;
    if (!search->found)
        return err_set(err, SBR_E_NOT_FOUND, "state",
                       "there are no kept changes '%.60s'; `sandbox-run changes list` shows what "
                       "there is",
                       id);
    if (search->found > 1)
        return err_set(err, SBR_E_INVALID, "state",
                       "%zu ids start with '%.60s'; give more of the one you mean", search->found,
                       id);
    return 0;
}

static int open_found(const struct state_dir *dir, const char *id, struct changeset *changeset,
                      sbr_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int r;

    memcpy(changeset->id, id, sizeof(changeset->id));
    changeset->dir_fd = openat(dir->fd, id, flags);
    if (changeset->dir_fd < 0)
        return state_fail("open the kept changes in", dir->path, err);
    r = changeset_meta_read(changeset->dir_fd, changeset, err);
    if (r == 1) {
        changeset->tree_fd = openat(changeset->dir_fd, CHANGESET_TREE, flags);
        r = changeset->tree_fd >= 0;
    }
    if (r == 0)
        return err_set(err, SBR_E_SYSTEM, "state",
                       "the kept changes %.8s are damaged; `sandbox-run changes drop %.8s` removes "
                       "them",
                       id, id);
    return r < 0 ? r : 0;
}

int changeset_open(const char *id, struct changeset *ret, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct search search;
    int r;

    *ret = (struct changeset){ .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    r = resolve(id, &dir, &search, err);
    if (r == 0)
        r = open_found(&dir, search.id, ret, err);
    state_close(&dir);
    if (r < 0)
        changeset_close(ret);
    return r;
}

void changeset_close(struct changeset *changeset)
{
    scope_close_fd(&changeset->dir_fd);
    scope_close_fd(&changeset->tree_fd);
    scope_close_fd(&changeset->lock_fd);
    changes_done(&changeset->changes);
    output_files_done(&changeset->files);
    *changeset = (struct changeset){ .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
}

/* As lock_file_try; the directory is opened anew, because the lock goes with its file descriptor.
 */
static int try_lock(int dir_fd, int *ret_fd)
{
    *ret_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? -1 : lock_file_try(*ret_fd);
}

static int busy(const char *id, sbr_error *err)
{
    return err_set(err, SBR_E_BUSY, "state",
                   "another sandbox-run is at work on the changes %.8s; wait for it, and repeat",
                   id);
}

int changeset_lock(struct changeset *changeset, sbr_error *err)
{
    struct changeset again = { 0 };
    int r;

    if (changeset->lock_fd >= 0)
        return 0;
    r = try_lock(changeset->dir_fd, &changeset->lock_fd);
    if (r != LOCK_FILE_HELD) {
        r = r == LOCK_FILE_BUSY
                ? busy(changeset->id, err)
                : err_set_errno(err, "state", "cannot lock the changes %.8s", changeset->id);
        scope_close_fd(&changeset->lock_fd);
        changeset->lock_fd = -1;
        return r;
    }
    r = changeset_meta_read(changeset->dir_fd, &again, err);
    changeset->applied = again.applied;
    changes_done(&again.changes);
    output_files_done(&again.files);
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "state", "the changes %.8s were dropped just now",
                       changeset->id);
    return r < 0 ? r : 0;
}

int changeset_mark(struct changeset *changeset, bool applied, sbr_error *err)
{
    bool before = changeset->applied;

    if (before == applied)
        return 0;
    changeset->applied = applied;
    if (changeset_meta_write(changeset->dir_fd, changeset) == 0)
        return 0;
    changeset->applied = before;
    return state_fail("write to", "the kept changes", err);
}

/* Out of sight in one step; if we die, the sweep removes it. */
static int drop(const struct state_dir *dir, const char *id, sbr_error *err)
{
    struct state_dir staging = { .fd = -1 };
    scoped_fd int fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    scoped_fd int lock = -1;
    int r = fd < 0 ? -1 : try_lock(fd, &lock);

    if (r == 0)
        return busy(id, err);
    if (r < 0)
        return state_fail("lock kept changes in", dir->path, err);
    r = state_open(STATE_STAGING, true, &staging, err);
    if (r < 0)
        return r;
    if (renameat(dir->fd, id, staging.fd, id) < 0 || tree_remove(staging.fd, id) < 0)
        r = state_fail("drop changes from", dir->path, err);
    state_close(&staging);
    return r < 0 ? r : 0;
}

int changeset_drop(const char *id, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct search search;
    int r = resolve(id, &dir, &search, err);

    if (r == 0)
        r = drop(&dir, search.id, err);
    state_close(&dir);
    return r;
}
