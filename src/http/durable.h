/* Jobs that go on without their client, also after the gateway was killed.
 *
 *   accepted ──on record──> 202 ──"begun" on record──> runs ──result on record──> others see it
 *
 * execution_record_accept is the first step; whom it calls replies, and then calls durable_begin.
 * http/restoration.c does the rest in the next gateway. */
#ifndef HTTP_DURABLE_H
#define HTTP_DURABLE_H

#include "http/execution.h"
#include "http/joblog.h"

struct server;

/* The header Prefer asks for a job that goes on. */
bool durable_is_asked(const struct exchange *x);
/* Starts an execution that is on record as accepted, as soon as the record says that it begins. */
void durable_begin(struct execution *e);
/* An execution without a job ends with an error, and that is on record as its result. */
void durable_fail(struct execution *e, const sbr_error *err);
/* For an exchange whose request was not put on record. */
void durable_refuse(struct exchange *x, const sbr_error *err);

/* What a gateway that starts does with the record of the one before.
 *
 * A job that had ended is there, with its result.  One that had begun is lost and is not run again.
 * One that was only accepted is begun, with what its token grants now, as soon as there is room. */

/* Reads the record; where that fails, the log says why, and no job is accepted. */
void restoration_open(struct server *server);
/* After each turn of the loop: begins what waits for room, and hands changes to the record. */
void restoration_run(struct server *server);
/* How many wait to be begun: another gateway may do that. */
unsigned int restoration_waiting(const struct server *server);
void restoration_close(struct server *server);

/* POST /v1/batch with `Prefer: respond-async`: runs that go on without their client, each on record
 * by itself (http/durable.h).  The batch is what they say together. */

/* True: a request with the same Idempotency-Key was there before, and `x` has its reply. */
bool batch_jobs_repeat(struct exchange *x);
/* Starts them all and replies when they are on record.  `texts` are what `list` was read from; it
 * takes over those of both that it sets to NULL. */
void batch_jobs_start(struct exchange *x, sbr_request **list, char **texts, size_t n);
/* A run that was on record belongs to its batch again. */
void batch_jobs_restore(struct execution *e, const struct joblog_job *job);
/* Each second: those that are over now are kept for as long as their last run. */
void batch_jobs_tick(struct server *server);

#endif
