/* An execution in the record of asynchronous jobs (http/joblog.h). */
#ifndef HTTP_EXECUTION_RECORD_H
#define HTTP_EXECUTION_RECORD_H

#include "http/execution.h"
#include "http/joblog_store.h"

/* Called on the loop when the record has it.  The error: why it has not. */
typedef void execution_recorded(struct execution *e, const sbr_error *err);

/* Takes the request over, also when it fails; `done` is called later, unless the execution is gone
 * then.  `insists`: it is tried until it is on record. */
int execution_record_accept(struct execution *e, struct joblog_text request, bool insists,
                            execution_recorded *done, sbr_error *err) must_check;
/* True until the acceptance is on record: nobody may rely on it yet. */
bool execution_record_is_accepting(const struct execution *e);
void execution_record_begin(struct execution *e, execution_recorded *done);
/* `settle` is called when the end is on record. */
void execution_record_end(struct execution *e, void (*settle)(struct execution *e));
/* The note of its dialect is not wanted after a restart. */
void execution_record_drop_note(struct server *server, const char *id);
/* The execution is not wanted any more. */
void execution_record_forget(const struct execution *e);
/* Nothing is called back any more, and what only the record needs is freed. */
void execution_record_drop(struct execution *e);

#endif
