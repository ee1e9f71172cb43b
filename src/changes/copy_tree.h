/* Copy-on-write without overlayfs: a copy of the whole tree, by reflink where the file system can, and afterwards a look
 * at what became different.  Gives the same list as the sandbox itself would (changes/collected.h). */
#ifndef CHANGES_COPY_TREE_H
#define CHANGES_COPY_TREE_H

#include "base/buf.h"
#include "changes/collected.h"

/* A descriptor or two for each of them are open at a time. */
#define COPY_MAX_DEPTH 200

struct copy_progress {
    /* May be NULL; at most five times a second.  False ends the copy. */
    bool (*tell)(void *context, uint64_t files, uint64_t bytes);
    void *context;
};

struct copied {
    struct buf identities; /* of all that is in the copy: changes/copy_identity.h */
    uint64_t files, bytes;
    uint64_t left_out; /* pipes, sockets, devices, and what cannot be read */
    bool reflinked;    /* at least one file shares its blocks */
};

/* `from_fd` to the empty directory `to_fd` (open for reading): files, directories, links, with modes and times; as
 * root with owners as well, since what a stranger owns in the tree must not be open to the program.  Pipes, sockets,
 * devices and what cannot be read are left out and remembered, so that they are not taken for deleted.  A directory on
 * which something is mounted becomes an empty one.
 * `ret` is to be given to copy_done(), also after an error. */
int copy_tree(int from_fd, int to_fd, const struct copy_progress *progress, struct copied *ret,
              sbr_error *err) must_check;
/* When everything inside is dead: what differs, into ret->list and ret->content_fd (an empty directory of ours).  The
 * copy is a stranger's now: nothing is followed, modes that lock us out are undone. */
int copy_changes(int copy_fd, const struct copied *copied, struct collected *ret, sbr_error *err)
    must_check;
void copy_done(struct copied *copied);

#endif
