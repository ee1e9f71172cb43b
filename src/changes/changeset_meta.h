/* The records of a changeset (base/record.h).  Private to changesets and workspaces. */
#ifndef CHANGES_CHANGESET_META_H
#define CHANGES_CHANGESET_META_H

#include "base/record.h"
#include "changes/changeset.h"
#include "model/changes.h"

#define CHANGESET_META "meta"
#define CHANGESET_TREE "tree"

/* Replaces the file in one step. 0, or -1 with errno. */
int changeset_meta_write(int dir_fd, const struct changeset *changeset);
/* 1: read; 0: damaged, or of another version; negative.  The caller frees changes and files, also
 * of 0. */
int changeset_meta_read(int dir_fd, struct changeset *ret, sbr_error *err) must_check;

/* 1; 0 when it is not whole or not there; negative.  The caller calls record_done. */
#define CHANGESET_RECORD_MAX (1u << 30)
int changeset_read_record(int dir_fd, const char *name, uint32_t magic, struct record *ret,
                          sbr_error *err) must_check;

/* Changes as fields of a record.  Decoding: 1; 0 when they make no sense; negative.  The caller
 * calls changes_done in any case. */
void changes_encode(const struct changes *changes, struct buf *out);
int changes_decode(struct buf_reader *r, struct changes *ret, sbr_error *err) must_check;

void changes_put_node(struct buf *b, const struct node *node);
void changes_read_node(struct buf_reader *r, struct node *node);

/* A valid path of a change: the list may have been tampered with. */
bool changeset_is_path(const char *path);

/* Deleted directories that held much are reported in one line. */
#define FOLD_FILES 10 /* more deleted files than this below a directory */

/* For each change. */
struct fold {
    uint64_t files, bytes; /* deleted directories: what was deleted below */
    bool hidden;           /* a directory above reports it */
};

/* The change at the first `len` bytes of `path`, or changes->n.  `changes` is sorted. */
size_t changes_find(const struct changes *changes, unsigned int root, const char *path, size_t len);

/* `changes` is sorted.  The caller frees the array; NULL without memory. */
struct fold *changes_fold(const struct changes *changes);

#endif
