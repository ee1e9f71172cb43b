/* The directory of the store and the names in it.  Private to the store. */
#ifndef STORE_STORE_ROOT_H
#define STORE_STORE_ROOT_H

#include "base/encoding.h"
#include "base/user_dir.h"
#include "store/store.h"

#define STORE_NAME_SIZE 96 /* "KIND/KEY" and the like, below the root */

_Static_assert(USER_DIR_SIZE + 160 <= STORE_PATH_SIZE, "room for \"/KIND/KEY/tree\"");

/* Beside the kinds, which have the names of store_kind_name. */
#define STORE_STAGING "staging" /* what is being made or removed; names of ENCODING_ID_SIZE */
#define STORE_LOCKS "lock"      /* KIND-KEY */
#define STORE_NOTES "note"      /* digest of the name */
#define STORE_TOTAL "total"     /* about how much the artifacts take */

/* 1: open; 0: there is none at `path`, and it was not to be made; negative: it cannot be used. */
int store_root_open(bool make, struct user_dir *ret, sbr_error *err) must_check;

void store_entry_name(enum store_kind kind, const char *key, char name[STORE_NAME_SIZE]);
int store_check_key(const char *key, sbr_error *err) must_check;
/* A new name in STORE_STAGING; 0, or -1 with errno. */
int store_staging_name(char name[STORE_NAME_SIZE]);

/* The current errno, with advice for the user. */
int store_fail(const char *what, const char *path, sbr_error *err);

/* The directories of a new cache; 0, or -1 with errno. */
int store_root_furnish(int fd);
/* From now on the cache is this directory, which the caller made and keeps; NULL: as before. */
void store_root_redirect(const char *path);

#endif
