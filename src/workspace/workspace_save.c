/* Puts a run's changes into the tree.  First `pending` gets all of them, with a list; then each
 * change is moved to its place; then the use is measured and `pending` is removed.  A supervisor
 * that is killed before `pending` exists leaves the old tree.  After one that is killed later,
 * workspace_open completes the save. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/tree_remove.h"
#include "changes/apply.h"
#include "changes/changeset_meta.h"
#include "changes/node.h"
#include "workspace/workspace_internal.h"

#define WORK "/work"
#define LIST_NAME "list"
#define LIST_MAGIC 0x31505253  /* "SRP1": the number changes with the format */
#define CONTENT_NAME "content" /* next to the list */
/* A run may exceed its limits by inodes of parent directories, and by what it writes between two
 * measurements. */
#define SLACK_INODES 256
#define SLACK_BYTES (1 << 20)

static int write_list(int dir_fd, const struct changes *changes, sbr_error *err)
{
    struct buf data;

    record_begin(&data, LIST_MAGIC, CHANGESET_RECORD_MAX);
    changes_encode(changes, &data);
    return record_write(dir_fd, LIST_NAME, &data, RECORD_FLUSH) < 0
               ? err_set_errno(err, "workspace", "cannot write the list of a run's changes")
               : 0;
}

/* 1: read; 0: the list is incomplete. */
static int read_list(int dir_fd, struct changes *ret, sbr_error *err)
{
    scoped_record struct record record;
    int r = changeset_read_record(dir_fd, LIST_NAME, LIST_MAGIC, &record, err);

    return r == 1 ? changes_decode(&record.fields, ret, err) : r;
}

/* What the file at a path takes; 0 when there is none. */
static uint64_t blocks_at(int dir_fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct walk_entry entry = { .name = slash ? slash + 1 : path, .dir_fd = dir_fd };
    scoped_free char *above = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    scoped_fd int parent = above ? node_open(dir_fd, above, O_RDONLY | O_DIRECTORY) : -1;

    if (slash && parent < 0)
        return 0;
    if (slash)
        entry.dir_fd = parent;
    return fstatat(entry.dir_fd, entry.name, &entry.st, AT_SYMLINK_NOFOLLOW) == 0
               ? workspace_blocks(&entry)
               : 0;
}

/* The use after the save.  What cannot be measured counts as if it stayed. */
static struct workspace_info foresee(const struct workspace *workspace, int content_fd,
                                     const struct changes *changes)
{
    struct workspace_info after = workspace->info;
    uint64_t less_bytes = 0, less_inodes = 0;

    for (size_t i = 0; i < changes->n; i++) {
        const struct change *change = &changes->items[i];

        if (change->op == CHANGE_MODE)
            continue;
        after.used_inodes += change->op == CHANGE_CREATED;
        less_inodes += change->op == CHANGE_DELETED;
        if (change->op != CHANGE_DELETED)
            after.used_bytes += blocks_at(content_fd, change->path);
        if (change->op != CHANGE_CREATED)
            less_bytes += blocks_at(workspace->tree_fd, change->from ? change->from : change->path);
    }
    after.used_bytes -= less_bytes < after.used_bytes ? less_bytes : after.used_bytes;
    after.used_inodes -= less_inodes < after.used_inodes ? less_inodes : after.used_inodes;
    return after;
}

/* The limits of the run hold while it runs.  This check is for hosts where those limits let much
 * through. */
static int check_quota(const struct workspace *workspace, int content_fd,
                       const struct changes *changes, sbr_error *err)
{
    struct workspace_info after = foresee(workspace, content_fd, changes);

    if (after.used_bytes <= workspace->info.used_bytes &&
        after.used_inodes <= workspace->info.used_inodes)
        return 0; /* a smaller workspace is always saved */
    if (after.used_bytes <= after.quota_bytes + SLACK_BYTES &&
        after.used_inodes <= after.quota_inodes + SLACK_INODES)
        return 0;
    return workspace_check_fits(&after, err);
}

/* When a directory locks us out, opens all such directories and applies again: apply passes over
 * what is done. */
static int put_in(struct workspace *workspace, int content_fd, const struct changes *changes,
                  sbr_error *err)
{
    const unsigned int flags = APPLY_CONSUME | APPLY_NO_UNDO | APPLY_NO_CHECK;
    struct workspace_locked locked = { 0 };
    int r = apply_to(workspace->tree_fd, content_fd, changes, flags, err);

    if (r == 0 || err->sys_errno != EACCES)
        return r;
    r = workspace_unlock(workspace->tree_fd, false, &locked, err);
    if (r == 0)
        r = apply_to(workspace->tree_fd, content_fd, changes, flags, err);
    workspace_relock(workspace->tree_fd, &locked);
    return r;
}

/* Moves the changes from `pending` into the tree, measures the tree and removes `pending`. */
static int finish(struct workspace *workspace, int pending_fd, const struct changes *changes,
                  sbr_error *err)
{
    scoped_fd int content_fd = workspace_open_dir(pending_fd, CONTENT_NAME);
    struct workspace_info after = workspace->info;

    if (content_fd < 0)
        return err_set_errno(err, "workspace", "cannot read the changes of a run");
    if (put_in(workspace, content_fd, changes, err) < 0 ||
        workspace_measure(workspace->tree_fd, &after, err) < 0)
        return err->code;
    record_crash_point();
    if (workspace_meta_write(workspace->dir_fd, &after, err) < 0)
        return err->code;
    workspace->info = after;
    record_crash_point();
    if (tree_remove(workspace->dir_fd, WORKSPACE_PENDING) < 0)
        return err_set_errno(err, "workspace", "cannot tidy the workspace '%s'",
                             workspace->info.name);
    return 0;
}

int workspace_finish_pending(struct workspace *workspace, sbr_error *err)
{
    scoped_fd int pending_fd = workspace_open_dir(workspace->dir_fd, WORKSPACE_PENDING);
    struct changes changes = { 0 };
    int r;

    if (pending_fd < 0 && errno == ENOENT)
        return 0;
    if (pending_fd < 0)
        return err_set_errno(err, "workspace", "cannot open the last changes of '%s'",
                             workspace->info.name);
    r = read_list(pending_fd, &changes, err);
    if (r == 1)
        r = finish(workspace, pending_fd, &changes, err);
    else if (r == 0 && tree_remove(workspace->dir_fd, WORKSPACE_PENDING) < 0)
        /* The list is complete before `pending` exists: something else damaged it. */
        r = err_set_errno(err, "workspace", "cannot tidy the workspace '%s'", workspace->info.name);
    changes_done(&changes);
    return r;
}

/* Selects the changes of the tree at /work; they borrow.  Its index is also the name of its
 * contents. */
static int select_work(const struct changes *all, struct changes *ret, char index[16],
                       sbr_error *err)
{
    unsigned int root = 0;

    for (size_t i = 0; i < all->n_roots; i++)
        if (!strcmp(all->roots[i].target, WORK))
            root = (unsigned int)i;
    snprintf(index, 16, "%u", root);
    *ret = (struct changes){ .items = calloc(all->n + 1, sizeof(*ret->items)) };
    if (!ret->items)
        return err_set_oom(err, "workspace");
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].root == root)
            ret->items[ret->n++] = all->items[i];
    for (size_t i = 0; i < ret->n; i++)
        ret->items[i].root = 0;
    return 0;
}

/* Puts the list and the contents into `pending` in the staging directory, and moves that into
 * the workspace. */
static int commit(struct workspace *workspace, struct staging *staging,
                  const struct changes *changes, const char *content, sbr_error *err)
{
    scoped_fd int pending_fd = -1, content_fd = -1;
    char from[32];

    snprintf(from, sizeof(from), "tree/%s", content);
    if (mkdirat(staging->fd, WORKSPACE_PENDING, 0700) == 0)
        pending_fd = workspace_open_dir(staging->fd, WORKSPACE_PENDING);
    if (pending_fd < 0 || (renameat(staging->fd, from, pending_fd, CONTENT_NAME) < 0 &&
                           (errno != ENOENT || mkdirat(pending_fd, CONTENT_NAME, 0700) < 0)))
        return err_set_errno(err, "workspace", "cannot gather the changes of a run");
    content_fd = workspace_open_dir(pending_fd, CONTENT_NAME);
    if (content_fd < 0)
        return err_set_errno(err, "workspace", "cannot read the changes of a run");
    if (check_quota(workspace, content_fd, changes, err) < 0 ||
        write_list(pending_fd, changes, err) < 0)
        return err->code;
    record_crash_point();
    if (renameat(staging->fd, WORKSPACE_PENDING, workspace->dir_fd, WORKSPACE_PENDING) < 0)
        return err_set_errno(err, "workspace", "cannot save the workspace '%s'",
                             workspace->info.name);
    (void)fsync(workspace->dir_fd);
    return finish(workspace, pending_fd, changes, err);
}

int workspace_save(struct workspace *workspace, struct staging *staging,
                   const struct changes *changes, sbr_error *err)
{
    char work[] = WORK;
    struct change_root root = { .source = workspace->tree, .target = work };
    struct changes own;
    char content[16];
    int r = select_work(changes, &own, content, err);

    own.roots = &root;
    own.n_roots = 1;
    if (r == 0 && own.n)
        r = commit(workspace, staging, &own, content, err);
    free(own.items);
    staging_discard(staging);
    return r;
}
