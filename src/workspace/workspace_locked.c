/* Directories and files of a workspace whose modes lock their owner out: programs make them, and
 * what is in them is saved and exported all the same.  They are opened with a bit that no tree
 * of ours has otherwise, which marks those that got no other mode meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inode.h"
#include "changes/node.h"
#include "workspace/workspace_internal.h"

#define MARK S_ISVTX

static bool locks_out(mode_t mode, bool files)
{
    if (S_ISDIR(mode))
        return (mode & 0700) != 0700;
    return files && S_ISREG(mode) && !(mode & 0400);
}

static int add_locked(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct workspace_locked *locked = context;
    struct workspace_locked_node node = { .mode = entry->st.st_mode & 0777 };

    if (!locks_out(entry->st.st_mode, locked->files))
        return 0;
    if (locked->n == locked->room) {
        size_t room = locked->room ? 2 * locked->room : 16;
        struct workspace_locked_node *grown = realloc(locked->items, room * sizeof(*grown));

        if (!grown)
            return err_set_oom(err, "workspace");
        locked->items = grown;
        locked->room = room;
    }
    node.opened = node.mode | (S_ISDIR(entry->st.st_mode) ? 0700 : 0400) | MARK;
    node.path = strdup(entry->path);
    if (!node.path)
        return err_set_oom(err, "workspace");
    locked->items[locked->n++] = node;
    return 0;
}

/* -1 with errno.  The parents are open already. */
static int open_one(int tree_fd, const struct workspace_locked_node *node)
{
    scoped_fd int fd = node_open(tree_fd, node->path, O_PATH | O_NOFOLLOW);

    return fd < 0 ? -1 : inode_chmod(fd, node->opened);
}

int workspace_unlock(int tree_fd, bool files, struct workspace_locked *ret, sbr_error *err)
{
    int r;

    ret->files = files;
    r = workspace_walk(tree_fd, add_locked, ret, err);

    for (size_t i = 0; i < ret->n && r == 0; i++) /* those above before those below */
        if (open_one(tree_fd, &ret->items[i]) < 0)
            r = err_set_errno(err, "workspace", "cannot open '%.200s'", ret->items[i].path);
    return r;
}

void workspace_relock(int tree_fd, struct workspace_locked *locked)
{
    while (locked->n > 0) {
        struct workspace_locked_node *node = &locked->items[--locked->n];
        scoped_fd int fd = node_open(tree_fd, node->path, O_PATH | O_NOFOLLOW);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mode & MARK)
            (void)inode_chmod(fd, node->mode);
        free(node->path);
    }
    free(locked->items);
    *locked = (struct workspace_locked){ 0 };
}
