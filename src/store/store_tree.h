/* Reads and compares trees of files that untrusted programs made, without following a link.
 * Private to the store. */
#ifndef STORE_STORE_TREE_H
#define STORE_STORE_TREE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#define TREE_LIST_MAX (64u << 20)

struct store_tree_scan {
    struct buf list; /* identity of everything in it, for store_tree_unchanged */
    uint64_t bytes, files;
    char digest[SHA256_HEX_SIZE]; /* of names, modes, contents and targets of links */
};

/* `name` in `dir_fd` and everything below.  With `tidy`, modes become 0755 and 0644 first.  The
 * caller calls store_tree_scan_done, also when it fails. */
int store_tree_scan(int dir_fd, const char *name, bool tidy, struct store_tree_scan *ret,
                    sbr_error *err) must_check;
void store_tree_scan_done(struct store_tree_scan *scan);

/* Whether everything has the size, times and inode of the list.  An addition, removal or rename
 * changes the times of a directory, which is in the list. */
bool store_tree_unchanged(int dir_fd, const char *list, size_t len);

#endif
