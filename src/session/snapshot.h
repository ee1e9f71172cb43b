/* The files of /work and /tmp as they were at one moment, to be put back later.
 *
 *   (1) Everything inside stands still meanwhile; root acts as the program's user; no link is
 *       followed and no mount entered.
 *   (2) Contents are in one file without a name, in the session's directory: it ends with us.
 *   (3) What does not fit is not saved.  Unless it changed, nothing of it is missing afterwards. */
#ifndef SESSION_SNAPSHOT_H
#define SESSION_SNAPSHOT_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"

#define SNAPSHOT_BYTES ((uint64_t)64 << 20) /* of contents, in one snapshot */
#define SNAPSHOT_ENTRIES 20000
#define SNAPSHOTS_MAX 8 /* as many states as a kernel saves */

struct session;
struct snapshot_entry;

struct snapshot {
    struct link link;
    uint64_t cell; /* that follows */
    int data_fd;
    struct snapshot_entry *entries; /* directories before what is in them */
    size_t n, room;
    struct buf paths;
    uint64_t bytes;
    uint64_t left_out; /* files without their contents */
    bool whole;        /* every entry is in it */
};

/* NULL and an error. */
struct snapshot *snapshot_take(struct session *s, uint64_t cell, sbr_error *err);
/* Puts everything back; `how` gets "restored", "removed" and "not_restored". */
int snapshot_restore(struct session *s, const struct snapshot *snapshot, json_t *how,
                     sbr_error *err) must_check;
/* The same in a sandbox that has run no code but ours yet: nothing has to stand still. */
int snapshot_lay_out(struct session *s, const struct snapshot *snapshot, json_t *how,
                     sbr_error *err) must_check;
void snapshot_free(struct snapshot *snapshot);

/* For another process of this program: writes what is not in the file behind the contents, with
 * `text`; the numbers that snapshot_read needs are the answer, NULL: it cannot be written. */
json_t *snapshot_write(const struct snapshot *snapshot, const char *text);
/* Of that file, which it takes over; the caller frees *ret_text.  NULL: it is not sound. */
struct snapshot *snapshot_read(int take_fd, const json_t *numbers, char **ret_text);

/* Among those of the session. */
struct snapshot *snapshot_find(struct session *s, uint64_t cell);
/* Takes it over.  One of the same cell, later ones and more than there may be are dropped. */
void snapshot_keep(struct session *s, struct snapshot *take_snapshot);
/* Those of `cell` and later ones. */
void snapshot_drop_from(struct session *s, uint64_t cell);

#endif
