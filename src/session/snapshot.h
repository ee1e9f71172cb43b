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
#include "session/supervisor.h"

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

/* Spare sessions: a session like one that was made before, with its kernel ready, which waits for
 * `create`.  It belongs to nobody and ends with the engine until then; adopted, it is a session
 * like every other, and neither the engine nor the session that made it matters to it any more.
 *
 *   a session is made --> is there an engine, and no spare of this key? --> forks a maker
 *   maker --> forks a spare, waits for its adoption, forks the next; ends with a spare that ends
 *   create --> a spare of the key? --adopt--> the spare moves its directory and tells its maker */

/* Fills the name of all that such a session depends on; empty: it is always made anew. */
void spare_name_key(const sbr_request *req, const struct language *language,
                    const struct session_bounds *bounds, char key[SHA256_HEX_SIZE]);
/* False: there is none; otherwise *ret is the session's description, to be freed.  `req` says
 * who the client is for the engine. */
bool spare_take(const char *key, const sbr_request *req, const struct session_bounds *bounds,
                char **ret);

/* In its maker: a spare that waits for the engine's end; it says on *ret_adopted that a client has
 * adopted it.  Negative: none is wanted now, or it cannot be. */
int spare_begin(const struct session *s, struct session *made, int *ret_adopted, sbr_error *err)
    must_check;
/* False: it has ended before. */
bool spare_await_adoption(int fd);
/* In the process of the spare: once its kernel is ready, and once it is lost. */
void spare_go_on(struct session *s);
/* A client wants it: the answer, or NULL and an error. */
json_t *spare_adopt(struct session *s, const json_t *line, sbr_error *err);
/* Once it is adopted.  False: it has no maker, or none any more. */
bool spare_ask_next(struct session *s);

/* Connects to a spare of the key; NULL: there is none. */
sbr_session *spare_connect(const char *key);
/* Whether a session of that request has spares. */
bool spare_is_plain(const sbr_request *req);
/* What a client says to adopt one; the caller owns it. */
json_t *spare_adopt_words(const char *key, const sbr_request *req,
                          const struct session_bounds *bounds);

/* spare_copy.c */
/* Gives the state of `made`, a copy that is being made, to a spare; *ret_fd says what becomes of
 * it.  False: there is none, or it cannot. */
bool spare_copy_give(const struct session *made, int *ret_fd);
/* In the spare, as spare_adopt: takes that state from its client, and its kernel becomes the copy.
 */
json_t *spare_copy_adopt(struct session *s, struct connection *c, const json_t *line,
                         sbr_error *err);

#endif
