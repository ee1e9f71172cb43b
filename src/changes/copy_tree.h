/* Copy-on-write without overlayfs: a copy of the whole tree, by reflink where the file system can,
 * and afterwards a look at the differences.  Gives the same list as the sandbox itself would
 * (changes/collected_tree.h). */
#ifndef CHANGES_COPY_TREE_H
#define CHANGES_COPY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "changes/collected_tree.h"

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
    struct buf identities; /* of all that is in the copy: copy_identity.c */
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

/* Copies the bytes of one file: shared where the file system can, copied by the kernel where it
 * can, else read and written.  Holes stay holes. */
struct copy_file {
    void (*moved)(void *context, uint64_t bytes); /* after each piece; may be NULL */
    void *context;
    bool reflinked; /* out: the blocks are shared */
};

/* `to_fd` is new and empty; at most `size` bytes are copied.  A file that became shorter meanwhile
 * is copied as it is. 0, or -1 with errno. */
int copy_file(int from_fd, int to_fd, uint64_t size, struct copy_file *how);

/* The identity of everything in a copy when it was made: records in the order of a walk, names
 * sorted within each directory, and behind the record of a directory those of its entries. */
struct identity {
    uint32_t mode;        /* in the copy; 0 when it was left out                   */
    uint32_t source_mode; /* of the source: the copy cannot always have it */
    uint64_t size, ino;
    int64_t mtime_ns, ctime_ns;
    uint64_t below; /* of a directory: bytes of the records of what is in it */
    uint64_t name_len;
};

/* `copy` NULL: left out.  Returns where the record begins; list->failed reports a lack of memory.
 */
size_t copy_identity_add(struct buf *list, const char *name, mode_t source_mode,
                         const struct stat *copy);
/* Once all entries of the directory were added and it has its final stat. */
void copy_identity_close(struct buf *list, size_t at, const struct stat *copy);

/* A record and where its parts lie. */
struct identity_view {
    struct identity is;
    const char *name;
    size_t first; /* of what is in it      */
    size_t next;  /* behind all of that    */
};

struct identity_view copy_identity_at(const struct buf *list, size_t at);
/* It is unchanged; a directory only has to be one. */
bool copy_identity_same(const struct identity *was, const struct stat *now);

#endif
