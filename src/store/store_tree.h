/* Trees of files that strangers made: read and compared without following a link.  Private to the store. */
#ifndef STORE_STORE_TREE_H
#define STORE_STORE_TREE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#define TREE_LIST_MAX (64u << 20)

struct tree_scan {
    struct buf list; /* identity of everything in it, for tree_unchanged */
    uint64_t bytes, files;
    char digest[SHA256_HEX_SIZE]; /* of names, modes, contents and targets of links */
};

/* `name` in `dir_fd` and everything below.  With `tidy`, modes become 0755 and 0644 first.  The
 * caller calls tree_scan_done, also when it fails. */
int tree_scan(int dir_fd, const char *name, bool tidy, struct tree_scan *ret, sbr_error *err)
    must_check;
void tree_scan_done(struct tree_scan *scan);

/* Whether everything has the size, times and inode that the list says.  Whatever is added, removed
 * or renamed changes the times of its directory, which is in the list. */
bool tree_unchanged(int dir_fd, const char *list, size_t len);

#endif
