/* What stands in an entry's `meta`.  Private to the store. */
#ifndef STORE_STORE_META_H
#define STORE_STORE_META_H

#include <time.h>

#include "store/store.h"
#include "store/store_tree.h"

#define META_NAME "meta"
#define TREE_NAME "tree"

struct store_meta {
    enum store_kind kind;
    char key[SHA256_HEX_SIZE];
    char about[STORE_ABOUT_SIZE];
    char digest[SHA256_HEX_SIZE]; /* of the tree */
    uint64_t bytes, files;
    struct timespec used; /* modification of the file: when the entry was last used or verified */
    char *list;           /* see store_tree_scan; NULL unless asked for */
    size_t list_len;
};

#define scoped_meta __attribute__((cleanup(store_meta_done)))

/* 1: whole; 0: missing or damaged; negative: cannot be read now, which says nothing about it. */
int store_meta_read(int entry_fd, bool with_list, struct store_meta *ret, sbr_error *err)
    must_check;
void store_meta_done(struct store_meta *meta);

/* The whole file, in the place of an older one.  0, or -1 with errno and nothing changed. */
int store_meta_write(int entry_fd, const struct store_meta *meta, const struct buf *list);

/* One line of UTF-8 without control characters, cut to size. */
void store_meta_set_about(struct store_meta *meta, const char *about);

#endif
