/* Entries that are there already: verified, removed, bounded.  Private to the store. */
#ifndef STORE_STORE_ENTRY_H
#define STORE_STORE_ENTRY_H

#include "store/store_meta.h"
#include "store/store_root.h"

/* How much is trusted. */
enum store_trust {
    TRUST_IDENTITY, /* unchanged times and inodes in this boot prove the content */
    TRUST_NOTHING,  /* the content is read */
};

/* A store_found, or negative; a sound one is marked as used. */
int store_entry_check(const struct user_dir *root, enum store_kind kind, const char *key,
                      enum store_trust trust, sbr_error *err) must_check;

/* 0, also when there is none, or -1 with errno. */
int store_entry_remove(const struct user_dir *root, enum store_kind kind, const char *key);

/* SANDBOX_RUN_CACHE_MAX, or its default. */
int store_bound(uint64_t *ret_bytes, sbr_error *err) must_check;
/* Counts an artifact that was added and removes the least recently used ones above the bound, but
 * not `added` itself. */
void store_bound_keep(const struct user_dir *root, const struct store_meta *added);

/* Removes what makers that died left behind, and notes older than this many seconds. */
void store_sweep_root(const struct user_dir *root, int64_t notes_older);

#endif
