/* The record of asynchronous jobs, written by a thread of its own.
 *
 * The loop adds changes; those of one turn of the loop are written together, all or none, and what
 * waits for one of them is called back on the loop.
 *   (1) A job begins only after "it has begun" is on record.
 *   (2) A change other than the acceptance of a job is tried again until it is written.
 *   (3) What a full disk makes wait is bounded: then no job is accepted. */
#ifndef HTTP_JOBLOG_H
#define HTTP_JOBLOG_H

#include "base/loop.h"
#include "http/joblog_store.h"
#include "http/response.h"

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
