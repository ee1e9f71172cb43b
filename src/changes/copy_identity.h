/* The identity of everything in a copy when it was made: records in the order of a walk, names
 * sorted within each directory, and behind the record of a directory those of its entries. */
#ifndef CHANGES_COPY_IDENTITY_H
#define CHANGES_COPY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"

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
