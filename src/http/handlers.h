/* What the rows of the route table do. */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include <jansson.h>

#include "http/exchange.h"

void meta_health(struct exchange *x);
void meta_ready(struct exchange *x);
void meta_version(struct exchange *x);
void meta_metrics(struct exchange *x);
void meta_openapi(struct exchange *x);
void meta_reference(struct exchange *x);
void meta_languages(struct exchange *x);

void execute_create(struct exchange *x);
void executions_create(struct exchange *x);
void executions_list(struct exchange *x);
void executions_get(struct exchange *x);
void executions_cancel(struct exchange *x);
void executions_events(struct exchange *x);
void executions_stdin(struct exchange *x);
void executions_output(struct exchange *x);
void executions_socket(struct exchange *x);

void batches_create(struct exchange *x);
void batch_jobs_get(struct exchange *x);
void batch_jobs_cancel(struct exchange *x);

void work_calls_test(struct exchange *x);
void work_calls_build(struct exchange *x);
void work_calls_golden(struct exchange *x);
void work_calls_verify(struct exchange *x);
void work_calls_compare(struct exchange *x);
void work_calls_profile(struct exchange *x);

void sessions_create(struct exchange *x);
/* Takes what only a session has out of the body.  0, or -1 with the field. */
struct refusal;
int sessions_take_bounds(json_t *body, sbr_session_bounds *ret, struct refusal *fault);
/* Whether the exchange's token covers what the session that its path names was given, and asks for
 * no more: see admit_cell.  0 or -1. */
int sessions_admit(const struct exchange *x, const char *language, uint64_t *timeout_ms,
                   struct refusal *refusal);
void sessions_list(struct exchange *x);
void sessions_get(struct exchange *x);
void sessions_end(struct exchange *x);
void sessions_vars(struct exchange *x);
void sessions_metrics(struct exchange *x);
void sessions_interrupt(struct exchange *x);
void sessions_restart(struct exchange *x);
void sessions_checkpoint(struct exchange *x);
void sessions_rollback(struct exchange *x);
void sessions_fork(struct exchange *x);
void sessions_files(struct exchange *x);
void sessions_put_file(struct exchange *x);
void sessions_get_file(struct exchange *x);
void sessions_delete_file(struct exchange *x);
void cells_create(struct exchange *x);

void mcp_post(struct exchange *x);
void mcp_get(struct exchange *x);
void mcp_delete(struct exchange *x);

/* In any thread: notes in the audit that changes are applied or undone (`how`), unless the tenant
 * may not write where they belong. */
int kept_changes_may_change(const struct server *server, const char *tenant, const char *id,
                            const char *how, sbr_error *err);
void kept_changes_list(struct exchange *x);
void kept_changes_get(struct exchange *x);
void kept_changes_read_diff(struct exchange *x);
void kept_changes_apply(struct exchange *x);
void kept_changes_undo(struct exchange *x);
void kept_changes_remove(struct exchange *x);

void workspaces_list(struct exchange *x);
void workspaces_remove(struct exchange *x);
void workspaces_files(struct exchange *x);
void workspaces_put_file(struct exchange *x);
void workspaces_get_file(struct exchange *x);
void workspaces_delete_file(struct exchange *x);

/* Who and what may pass, before a handler sees the request. */

/* False: the exchange has its reply. */
bool guard_admits(struct exchange *x, const char *method);
/* Counts `starts` more for the rate than the one that the route counts for.  False: replied. */
bool guard_takes(struct exchange *x, size_t starts);

#endif
