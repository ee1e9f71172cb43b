/* POST /v1/batch with `Prefer: respond-async`: runs that go on without their client, each on record
 * by itself (http/durable.h).  The batch is what they say together. */
#ifndef HTTP_BATCH_JOBS_H
#define HTTP_BATCH_JOBS_H

#include "http/execution.h"
#include "http/joblog_store.h"

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
