/* Copy-on-write without overlayfs: a copy of the whole tree, by reflink where the file system can,
 * and afterwards a look at the differences.  Gives the same list as the sandbox itself would
 * (changes/collected.h). */
#ifndef CHANGES_COPY_TREE_H
#define CHANGES_COPY_TREE_H

#include "base/buf.h"
#include "changes/collected.h"

/* A file descriptor or two are open for each. */
#define COPY_MAX_DEPTH 200

struct copy_progress {
    /* May be NULL; at most five times a second.  False ends the copy. */
    bool (*report)(void *context, uint64_t files, uint64_t bytes);
    void *context;
    /* May be NULL.  True for what becomes an empty file or directory in the copy: the sandbox
     * covers it, so that it can neither be read nor changed. */
    bool (*is_left_out)(const void *tree, const char *path);
    const void *tree;
};

struct copied {
    struct buf identities; /* of all that is in the copy: changes/copy_identity.h */
    uint64_t files, bytes;
    uint64_t left_out; /* pipes, sockets, devices, and what cannot be read */
    bool reflinked;    /* at least one file shares its blocks */
};

/* Copies `from_fd` to the empty directory `to_fd` (open for reading): files, directories, links,
 * with modes and times; as root with owners as well, because files of other users must not be open
 * to the program.  Pipes, sockets, devices and what cannot be read are left out and recorded, so
 * that they do not count as deleted.  A directory on which something is mounted becomes an empty
 * one.  The caller calls copy_done(), also after an error. */
int copy_tree(int from_fd, int to_fd, const struct copy_progress *progress, struct copied *ret,
              sbr_error *err) must_check;
/* When every process inside is dead: writes the differences to ret->list and ret->content_fd (an
 * empty directory of ours).  The program may have made anything in the copy: no link is followed,
 * modes that lock us out are changed. */
int copy_changes(int copy_fd, const struct copied *copied, struct collected *ret, sbr_error *err)
    must_check;
void copy_done(struct copied *copied);

#endif
