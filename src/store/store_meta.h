/* The records of an entry: `meta`, and `list` with the identity of all that is in the tree.  A run
 * that uses a layer of ten thousand files reads `meta` alone.  Private to the store. */
#ifndef STORE_STORE_META_H
#define STORE_STORE_META_H

#include <time.h>

#include "store/store.h"
#include "store/store_tree.h"

#define META_NAME "meta"
#define LIST_NAME "list"
#define REMARK_NAME "remark"
#define TREE_NAME "tree"

struct store_meta {
    enum store_kind kind;
    char key[SHA256_HEX_SIZE];
    char about[STORE_ABOUT_SIZE];
    char digest[SHA256_HEX_SIZE]; /* of the tree */
    uint64_t bytes, files;
    struct timespec used; /* modification time of `meta`: of the last use or verification */
    char *list;           /* see store_tree_scan; NULL unless asked for */
    size_t list_len;
};

#define scoped_meta __attribute__((cleanup(store_meta_done)))

/* 1: whole; 0: missing or damaged; negative: cannot be read now, which says nothing about it.
 * `ret` is all zero, or was read before. */
int store_meta_read(int entry_fd, bool with_list, struct store_meta *ret, sbr_error *err)
    must_check;
void store_meta_done(struct store_meta *meta);

/* Both records, in the place of older ones.  0, or -1 with errno. */
int store_meta_write(int entry_fd, const struct store_meta *meta, const struct buf *list);

/* The text of store_remark, of at most STORE_NOTE_MAX bytes.  0, or -1 with errno. */
int store_remark_write(int entry_fd, const char *text);

/* One line of UTF-8 without control characters, cut to size. */
void store_meta_set_about(struct store_meta *meta, const char *about);

#endif
