/* A workspace's content comes in or goes out as a whole: what archives (lib/archive.c) need of a
 * workspace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/inode.h"
#include "changes/node.h"
#include "model/limits.h"
#include "workspace/workspace_internal.h"

static int name_is_taken(const char *name, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "workspace",
                   "there is a workspace '%s' already; choose another name, or remove it with "
                   "`sandbox-run workspace rm %s`",
                   name, name);
}

/* The name is checked before the content is read for nothing, and again when the workspace is
 * put in its place. */
static int open_places(struct workspace_import *import, sbr_error *err)
{
    const char *name = import->info.name;
    struct workspace_new made;
    struct stat st;

    if (state_open(STATE_WORKSPACES, true, &import->workspaces, err) < 0)
        return err->code;
    if (fstatat(import->workspaces.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return name_is_taken(name, err);
    if (staging_open(&import->staging, err) < 0 ||
        workspace_prepare(&import->staging, &made, err) < 0)
        return err->code;
    import->dir_fd = made.dir_fd;
    import->tree_fd = made.tree_fd;
    return 0;
}

int workspace_import_begin(const char *name, struct workspace_quota quota,
                           struct workspace_import *ret, sbr_error *err)
{
    struct workspace_info *info = &ret->info;

    *ret = (struct workspace_import){ .info = { .owner = geteuid(), .created = time(NULL) },
                                      .workspaces = { .fd = -1 },
                                      .staging = { .fd = -1, .lock_fd = -1 },
                                      .dir_fd = -1,
                                      .tree_fd = -1 };
    if (workspace_check_name(name, err) < 0)
        return err->code;
    snprintf(info->name, sizeof(info->name), "%s", name);
    info->quota_bytes = quota.bytes ? quota.bytes : limit_defs[SBR_DISK_BYTES].preset;
    info->quota_inodes = quota.inodes ? quota.inodes : limit_defs[SBR_INODES].preset;
    if (open_places(ret, err) < 0) {
        workspace_import_done(ret);
        return err->code;
    }
    return 0;
}

/* Set-id bits and owners are dropped here: nothing else of an entry's mode was used before. */
static int dress(int tree_fd, const struct collect_list_entry *entry, const char *path)
{
    const struct timespec mtime = { entry->mtime_ns / 1000000000, entry->mtime_ns % 1000000000 };
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                       { mtime.tv_sec - (mtime.tv_nsec < 0),
                                         mtime.tv_nsec + (mtime.tv_nsec < 0 ? 1000000000 : 0) } };
    scoped_fd int fd = node_open(tree_fd, path, O_PATH | O_NOFOLLOW);

    if (fd < 0)
        return -1;
    (void)utimensat(fd, "", times,
                    AT_EMPTY_PATH); /* before Linux 5.8 the time stays that of the import */
    return entry->kind == COLLECT_LINK ? 0 : inode_chmod(fd, entry->mode & 0777);
}

/* From the end: a directory gets its mode and time after what is in it. */
static int dress_all(int tree_fd, const struct collect_list *list, sbr_error *err)
{
    for (size_t i = list->n; i-- > 0;) {
        const struct collect_list_entry *entry = &list->items[i];
        const char *path = collect_list_path(list, i);

        if (entry->kind != COLLECT_FILE && entry->kind != COLLECT_ENTER &&
            entry->kind != COLLECT_LINK)
            continue;
        if (dress(tree_fd, entry, path) < 0)
            return err_set_errno(err, "import", "cannot make '%.150s'", path);
    }
    return 0;
}

int workspace_import_end(struct workspace_import *import, const struct collect_list *list,
                         sbr_error *err)
{
    struct workspace_info *info = &import->info;
    int r;

    if (dress_all(import->tree_fd, list, err) < 0 ||
        workspace_measure(import->tree_fd, info, err) < 0 || workspace_check_fits(info, err) < 0 ||
        workspace_meta_write(import->dir_fd, info, err) < 0)
        return err->code;
    r = workspace_place(&import->staging, &import->workspaces, info->name, err);
    if (r < 0)
        return r;
    return r == 0 ? name_is_taken(info->name, err) : 0;
}

void workspace_import_done(struct workspace_import *import)
{
    scope_close_fd(&import->dir_fd);
    scope_close_fd(&import->tree_fd);
    staging_discard(&import->staging);
    state_close(&import->workspaces);
}

int workspace_export_begin(const char *name, struct workspace_export *ret, sbr_error *err)
{
    int r = workspace_open(name, false, (struct workspace_quota){ 0 }, &ret->workspace, err);

    if (r != WORKSPACE_HELD)
        return r < 0 ? r : workspace_busy(name, err);
    ret->locked = calloc(1, sizeof(*ret->locked));
    r = ret->locked ? workspace_unlock(ret->workspace.tree_fd, true, ret->locked, err)
                    : err_set_oom(err, "export");
    if (r < 0)
        workspace_export_done(ret);
    return r;
}

void workspace_export_done(struct workspace_export *opened)
{
    if (opened->locked)
        workspace_relock(opened->workspace.tree_fd, opened->locked);
    free(opened->locked);
    workspace_close(&opened->workspace);
}
