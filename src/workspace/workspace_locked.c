/* Directories of a workspace whose modes keep their owner out: programs make such ones, and what is in them is saved all
 * the same.  They are opened with a bit that no tree of ours has otherwise, so that afterwards those are known that
 * nobody gave another mode. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/scope.h"
#include "changes/node.h"
#include "workspace/workspace_internal.h"

#define MARK S_ISVTX

static int add_locked(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct workspace_locked *locked = context;
    struct workspace_locked_dir dir = { .mode = entry->st.st_mode & 0777 };

    if (!S_ISDIR(entry->st.st_mode) || (dir.mode & 0700) == 0700)
        return 0;
    if (locked->n == locked->room) {
        size_t room = locked->room ? 2 * locked->room : 16;
        struct workspace_locked_dir *grown = realloc(locked->items, room * sizeof(*grown));

        if (!grown)
            return err_set_oom(err, "workspace");
        locked->items = grown;
        locked->room = room;
    }
    dir.path = strdup(entry->path);
    if (!dir.path)
        return err_set_oom(err, "workspace");
    locked->items[locked->n++] = dir;
    return 0;
}

/* -1 with errno.  The parents are open already. */
static int open_one(int tree_fd, const struct workspace_locked_dir *dir)
{
    const char *slash = strrchr(dir->path, '/');
    scoped_free char *above = slash ? strndup(dir->path, (size_t)(slash - dir->path)) : NULL;
    scoped_fd int parent = above ? node_open(tree_fd, above, O_PATH | O_DIRECTORY) : -1, fd = -1;

    if (slash && parent < 0)
        return -1;
    fd = openat(slash ? parent : tree_fd, slash ? slash + 1 : dir->path,
                O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : inode_chmod(fd, dir->mode | 0700 | MARK);
}

int workspace_unlock(int tree_fd, struct workspace_locked *ret, sbr_error *err)
{
    int r = workspace_walk(tree_fd, add_locked, ret, err);

    for (size_t i = 0; i < ret->n && r == 0; i++) /* those above before those below */
        if (open_one(tree_fd, &ret->items[i]) < 0)
            r = err_set_errno(err, "workspace", "cannot open '%.200s'", ret->items[i].path);
    return r;
}

void workspace_relock(int tree_fd, struct workspace_locked *locked)
{
    while (locked->n > 0) {
        struct workspace_locked_dir *dir = &locked->items[--locked->n];
        scoped_fd int fd = node_open(tree_fd, dir->path, O_RDONLY | O_DIRECTORY);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mode & MARK)
            (void)fchmod(fd, dir->mode);
        free(dir->path);
    }
    free(locked->items);
    *locked = (struct workspace_locked){ 0 };
}
