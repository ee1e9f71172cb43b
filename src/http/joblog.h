/* The record of asynchronous jobs, written by a thread of its own.
 *
 * The loop adds changes; those of one turn of the loop are written together, all or none, and what
 * waits for one of them is called back on the loop.
 *   (1) A job begins only after "it has begun" is on record.
 *   (2) A change other than the acceptance of a job is tried again until it is written.
 *   (3) What a full disk makes wait is bounded: then no job is accepted. */
#ifndef HTTP_JOBLOG_H
#define HTTP_JOBLOG_H

#include "admit/grant.h"
#include "base/encoding.h"
#include "base/err.h"
#include "base/loop.h"
#include "http/response.h"

struct joblog_store;

/* The file of the jobs that outlive the gateway: SQLite with a write-ahead log.
 *
 * STATE/gateway-jobs/NAME.db, of its owner alone.  One process has it open.
 *   (1) What is read back is trusted only as far as its seal: a hash over a job's identity and each
 *       of its texts.  A row whose seal is wrong is as if it were not there.
 *   (2) A file that is no such database, or is damaged, is set aside and a new one is made.
 *   (3) A request is there until its job has begun, and not afterwards: what has begun cannot be
 *       begun again. */
#define JOBLOG_TEXT_MAX ((size_t)64 << 20) /* of each text of a job */

enum joblog_state { JOBLOG_ACCEPTED, JOBLOG_BEGUN, JOBLOG_ENDED };

struct joblog_text {
    const char *bytes; /* NULL: none, or it is in parts; NUL-terminated */
    size_t len;
    const struct response_text *parts; /* only to be written; NULL: it is in one piece */
};

struct joblog_job {
    /* Its identity, which never changes. */
    char id[ENCODING_ID_SIZE];
    char tenant[GRANT_TENANT_SIZE];
    char token_id[GRANT_TOKEN_SIZE];
    char key[64], fingerprint[65]; /* of Idempotency-Key; empty: none */
    char language[32];
    char dialect[16];             /* whose note it has; empty: none */
    char batch[ENCODING_ID_SIZE]; /* that it is a part of; empty: none */
    unsigned int place, places;   /* in that batch */
    uint64_t created_us;          /* since 1970 */
    enum joblog_state state;
    /* Its end. */
    uint64_t ended_us; /* since 1970 */
    uint64_t events;   /* how many were before the last */
    bool is_error;
    char outcome[24];
    char output_id[ENCODING_ID_SIZE];
    struct joblog_text request, note, result;
};

/* SBR_E_BUSY: another process has it open.  `name` says which gateway's it is.  *ret_aside: what
 * was there was damaged, and now has the ending ".damaged". */
int joblog_store_open(const char *name, struct joblog_store **ret, bool *ret_aside, sbr_error *err)
    must_check;
void joblog_store_close(struct joblog_store *store);
/* A call found that the file is damaged: it is to be closed and opened anew. */
bool joblog_store_is_damaged(const struct joblog_store *store);
/* Every job whose seals are right, the oldest first; the texts are the callee's to read only.  Rows
 * that are damaged are removed; *ret_damaged is their number. */
typedef void joblog_visit(void *context, const struct joblog_job *job);
int joblog_store_each(struct joblog_store *store, joblog_visit *visit, void *context,
                      size_t *ret_damaged, sbr_error *err) must_check;

/* Between the next two, all or nothing. */
int joblog_store_begin(struct joblog_store *store, sbr_error *err) must_check;
int joblog_store_commit(struct joblog_store *store, sbr_error *err) must_check;
void joblog_store_roll_back(struct joblog_store *store);
int joblog_store_accept(struct joblog_store *store, const struct joblog_job *job, sbr_error *err)
    must_check;
/* From now on it is never begun again.  1; 0: it is not on record, or has begun. */
int joblog_store_mark(struct joblog_store *store, const char *id, sbr_error *err) must_check;
/* Also of a job that was not put on record before.  Without a note the job keeps the one it has. */
int joblog_store_end(struct joblog_store *store, const struct joblog_job *job, sbr_error *err)
    must_check;
int joblog_store_drop_note(struct joblog_store *store, const char *id, sbr_error *err) must_check;
int joblog_store_forget(struct joblog_store *store, const char *id, sbr_error *err) must_check;
/* Moves the log into the file, and gives back what is free. */
void joblog_store_settle(struct joblog_store *store);

enum joblog_verb { JOBLOG_ACCEPT, JOBLOG_BEGIN, JOBLOG_END, JOBLOG_DROP_NOTE, JOBLOG_FORGET };

struct joblog_change {
    struct joblog_change *next;
    enum joblog_verb verb;
    struct joblog_job job;      /* only its id for all but the first and the third */
    char *request, *note;       /* that the job points to; freed at the end */
    struct response_text *text; /* the same: its result */
    bool insists;               /* an acceptance that is tried again, too */
    /* On the loop, when it is written; err: why it is not.  NULL: nobody waits. */
    void (*done)(void *context, const sbr_error *err);
    void *context;
    size_t bytes;
    sbr_error err; /* code 0: it is written */
};

struct joblog; /* NULL in a gateway that could not open it */

/* Calls `visit` for every job that is on record.  `name` tells gateways with one state apart. */
int joblog_open(const char *name, struct loop *loop, joblog_visit *visit, void *context,
                struct joblog **ret, sbr_error *err) must_check;
/* Writes what is left, if that goes. */
void joblog_close(struct joblog *joblog);
/* A change of this verb to the job of this id; NULL without memory. */
struct joblog_change *joblog_change_new(enum joblog_verb verb, const char *id);
void joblog_change_free(struct joblog_change *change);
/* Takes it over. */
void joblog_add(struct joblog *joblog, struct joblog_change *change);
/* Hands what was added in this turn of the loop to the thread. */
void joblog_flush(struct joblog *joblog);
/* False: so much waits to be written that nothing more is accepted. */
bool joblog_has_room(const struct joblog *joblog);
/* True while something waits to be written. */
bool joblog_is_busy(const struct joblog *joblog);

#endif
