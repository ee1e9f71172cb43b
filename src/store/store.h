/* What is kept between runs: compiled programs, dependency layers, prepared toolchains.
 *
 * One directory of the user's own (mode 0700): $SANDBOX_RUN_CACHE if set; otherwise the first of
 * $XDG_CACHE_HOME/sandbox-run, ~/.cache/sandbox-run and /var/tmp/sandbox-run-UID that is ours or
 * can be made.  Only the supervisor writes there.  An entry is KIND/KEY/: `tree` (the files),
 * `meta` (what it is, digest), `list` (identity of the files) and perhaps `remark` (what its maker
 * wrote).  It is made aside and renamed into place, so it is there whole or not at all, and it is
 * verified when it is used: see the theory in store.c. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

enum store_kind { STORE_ARTIFACT, STORE_LAYER, STORE_PREPARED, N_STORE_KINDS };

#define STORE_PATH_SIZE 1200
#define STORE_ABOUT_SIZE 200

/* "artifact", "layer", "prepared". */
const char *store_kind_name(enum store_kind kind);

struct store_entry {
    enum store_kind kind;
    char key[SHA256_HEX_SIZE];
    char path[STORE_PATH_SIZE]; /* absolute, of the tree */
};

/* Whether there is a sound entry; a failure is negative: the store cannot be used. */
enum store_found {
    STORE_ABSENT, /* also when it was damaged; then it is gone now */
    STORE_SOUND
};
/* Keys are SHA-256 in hexadecimal.  A store_found, or negative; a sound one is marked as used. */
int store_find(enum store_kind kind, const char *key, struct store_entry *ret, sbr_error *err)
    must_check;

/* A new directory to write a tree into, in the same file system as its final place.  No other user
 * can enter it; no process sweeps it as long as this one lives. */
struct store_staging {
    enum store_kind kind;
    char path[STORE_PATH_SIZE]; /* absolute; its `tree` is where files go */
    int tree_fd;                /* of `tree`, mode 0755 */
    int lock_fd;                /* of `path`, locked; -1 when there is nothing to discard */
    const char *remark;         /* a text that is kept beside the tree, or NULL */
};
int store_stage(enum store_kind kind, struct store_staging *ret, sbr_error *err) must_check;
/* Digest, records, rename.  An entry that another process made meanwhile wins; ours is dropped.
 * `about` is one line for people: "python: requests, numpy@1.26".  Prunes artifacts to their bound.
 * Every user inside can read the files (a+rX); only we can write; no set-id bits.  The staging is
 * used up, also when it fails. */
int store_commit(struct store_staging *staging, const char *key, const char *about,
                 struct store_entry *ret, sbr_error *err) must_check;
/* Does nothing after a commit, or a second time. */
void store_discard(struct store_staging *staging);

/* What its maker gave as `remark`, which the caller frees; NULL: nothing, or it is damaged. */
char *store_remark(const struct store_entry *entry);

/* One maker at a time.  A store_lock_result, or negative. */
enum store_lock_result {
    STORE_BUSY,  /* another process makes the entry */
    STORE_LOCKED /* until *ret_fd is closed, or the process ends */
};
int store_lock(enum store_kind kind, const char *key, int *ret_fd, sbr_error *err) must_check;

/* Small texts that can be made again (versions of toolchains, results of selftests): whole or not
 * at all.  Any text is a name.  Length of the text, which ends in NUL; -1 when there is none or it
 * is longer than `size` - 1. */
#define STORE_NOTE_MAX 65536
int store_note_read(const char *name, char *buf, size_t size);
/* Whether a note that is written can be read later. */
bool store_keeps_notes(void);
/* A store that cannot be written keeps no notes, and reports nothing. */
void store_note_write(const char *name, const char *text);

/* For `sandbox-run cache`. */
struct store_item {
    enum store_kind kind;
    bool damaged; /* its `meta` is not whole: only kind, key and used are known */
    char key[SHA256_HEX_SIZE];
    char about[STORE_ABOUT_SIZE]; /* UTF-8 without control characters */
    uint64_t bytes, files;
    int64_t used; /* time of last use, seconds */
};
/* Not 0 ends the listing, which returns it. */
typedef int store_visit(void *context, const struct store_item *item);
/* The visitor may remove what it is shown. */
int store_list(store_visit *visit, void *context, sbr_error *err) must_check;
/* No error when there is no such entry. */
int store_remove(enum store_kind kind, const char *key, sbr_error *err) must_check;
/* Compares the content.  A store_found, or negative. */
int store_verify(enum store_kind kind, const char *key, sbr_error *err) must_check;
/* Removes notes, and what makers that died left behind. */
int store_sweep(sbr_error *err) must_check;
/* A cache in memory, for this process and until store_memory_end: for a disk that is full.  Not for
 * two threads.  0, or -1 where no memory can be used. */
int store_memory_begin(void);
bool store_memory_is_needed(void); /* the disk is full, and the cache is on it */
bool store_memory_is_used(void);
void store_memory_end(void);
/* While the fd is open, store_retain leaves the entry alone.  -1 when it is being removed. */
int store_hold(const struct store_entry *entry) must_check;
/* Removes what was not used for so long, and the least recently used until no more than `bytes` are
 * there; never what a run holds. */
int store_retain(uint64_t seconds, uint64_t bytes, sbr_error *err) must_check;
/* Where it is most likely, without a look; false: nowhere. */
bool store_guess_path(char path[STORE_PATH_SIZE]);
/* Where it is, or would be made. */
int store_path(char *buf, size_t size, sbr_error *err) must_check;

#endif
