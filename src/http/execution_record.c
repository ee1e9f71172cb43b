#include "http/execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"

/* An execution that waits for the record, and whom it then calls. */
struct waiting {
    struct execution *e; /* NULL: it is gone */
    execution_recorded *done;
    void (*settle)(struct execution *e);
};

static void recorded(void *context, const sbr_error *err)
{
    struct waiting *waiting = context;
    struct execution *e = waiting->e;

    if (e)
        e->recording = NULL;
    if (e && waiting->settle)
        waiting->settle(e);
    else if (e && waiting->done)
        waiting->done(e, err);
    free(waiting);
}

static void fill(const struct execution *e, struct joblog_job *job)
{
    const struct execution_batch *batch = e->batch;
    bool first = batch && e->place == 0; /* it has the key of its batch */

    snprintf(job->tenant, sizeof(job->tenant), "%s", e->tenant);
    snprintf(job->token_id, sizeof(job->token_id), "%s", e->token_id);
    snprintf(job->key, sizeof(job->key), "%s", first ? batch->key : e->key);
    snprintf(job->fingerprint, sizeof(job->fingerprint), "%s",
             first ? batch->fingerprint : e->fingerprint);
    snprintf(job->language, sizeof(job->language), "%s", e->language);
    snprintf(job->dialect, sizeof(job->dialect), "%s", e->dialect);
    snprintf(job->batch, sizeof(job->batch), "%s", batch ? batch->id : "");
    job->place = e->place;
    job->places = batch ? batch->n : 0;
    job->created_us = e->created_us;
}

/* NULL without memory; otherwise `e` waits for it. */
static struct joblog_change *change_of(struct execution *e, enum joblog_verb verb,
                                       const struct waiting *given)
{
    struct joblog_change *change = joblog_change_new(verb, e->id);
    struct waiting *waiting = malloc(sizeof(*waiting));

    if (!change || !waiting) {
        joblog_change_free(change);
        free(waiting);
        return NULL;
    }
    *waiting = *given;
    waiting->e = e;
    change->done = recorded;
    change->context = waiting;
    fill(e, &change->job);
    return change;
}

static void add(struct execution *e, struct joblog_change *change)
{
    e->recording = change;
    joblog_add(e->server->joblog, change);
}

/* Moves the note to the change, whose job then has it. */
static void move_note(struct execution *e, struct joblog_change *change)
{
    change->note = take_ptr(e->note);
    change->job.note = (struct joblog_text){ .bytes = change->note,
                                             .len = change->note ? strlen(change->note) : 0 };
}

/* Why nothing can be accepted now. */
static int check(const struct execution *e, const struct joblog_text *request, sbr_error *err)
{
    const struct joblog *joblog = e->server->joblog;

    if (!joblog)
        return err_set(err, SBR_E_SYSTEM, "joblog",
                       "asynchronous jobs cannot be put on record, because the gateway could not "
                       "open its record; its log says why");
    if (!request->bytes)
        return err_set_oom(err, "joblog");
    if (request->len > JOBLOG_TEXT_MAX || (e->note && strlen(e->note) > JOBLOG_TEXT_MAX))
        return err_set(err, SBR_E_INVALID, "joblog", "an asynchronous request has at most 64 MiB");
    return joblog_has_room(joblog) ? 0
                                   : err_set(err, SBR_E_BUSY, "joblog",
                                             "too much waits to be put on record; ask again");
}

int execution_record_accept(struct execution *e, struct joblog_text request, bool insists,
                            execution_recorded *done, sbr_error *err)
{
    struct joblog_change *change = NULL;

    if (check(e, &request, err) == 0) {
        change = change_of(e, JOBLOG_ACCEPT, &(struct waiting){ .done = done });
        if (!change)
            err_set_oom(err, "joblog");
    }
    if (!change) {
        free((char *)request.bytes);
        return err->code;
    }
    change->request = (char *)request.bytes;
    change->insists = insists;
    change->job.request = request;
    change->job.state = JOBLOG_ACCEPTED;
    move_note(e, change);
    e->durable = true;
    add(e, change);
    return 0;
}

bool execution_record_is_accepting(const struct execution *e)
{
    return e->recording && e->recording->verb == JOBLOG_ACCEPT;
}

void execution_record_begin(struct execution *e, execution_recorded *done)
{
    struct joblog_change *change = change_of(e, JOBLOG_BEGIN, &(struct waiting){ .done = done });
    sbr_error err;

    if (change) {
        add(e, change);
        return;
    }
    err_set_oom(&err, "joblog");
    done(e, &err);
}

/* What the record has instead of a result that is too large. */
static struct response_text *too_large(void)
{
    sbr_error err;

    err_set(&err, SBR_E_SYSTEM, "joblog",
            "the result had more than 64 MiB and was not kept when the gateway ended; lower "
            "`max-output`, or use `keep_output`");
    return response_text_of(result_error_to_json(&err));
}

void execution_record_end(struct execution *e, void (*settle)(struct execution *e))
{
    struct joblog_change *change =
        e->server->joblog ? change_of(e, JOBLOG_END, &(struct waiting){ .settle = settle }) : NULL;
    struct joblog_job *job;

    if (!change || !e->text) { /* no memory: the next gateway will not know how it ended */
        if (change)
            free(change->context);
        joblog_change_free(change);
        settle(e);
        return;
    }
    job = &change->job;
    change->text = e->text->len > JOBLOG_TEXT_MAX ? too_large() : e->text;
    if (change->text == e->text)
        e->text->users++;
    if (change->text)
        job->result = (struct joblog_text){ .bytes = change->text->bytes,
                                            .len = change->text->len,
                                            .parts = change->text->bytes ? NULL : change->text };
    job->state = JOBLOG_ENDED;
    job->ended_us = e->created_us + (e->ended_us - e->started_us);
    job->events = event_log_next(&e->log);
    job->is_error = e->is_error || change->text != e->text;
    snprintf(job->outcome, sizeof(job->outcome), "%s", e->outcome);
    snprintf(job->output_id, sizeof(job->output_id), "%s", e->output_id);
    move_note(e, change);
    add(e, change);
}

static void add_plain(struct server *server, enum joblog_verb verb, const char *id)
{
    struct joblog_change *change = server->joblog ? joblog_change_new(verb, id) : NULL;

    if (change)
        joblog_add(server->joblog, change);
}

void execution_record_drop_note(struct server *server, const char *id)
{
    add_plain(server, JOBLOG_DROP_NOTE, id);
}

void execution_record_forget(const struct execution *e)
{
    if (e->durable || e->restored)
        add_plain(e->server, JOBLOG_FORGET, e->id);
}

void execution_record_drop(struct execution *e)
{
    if (e->recording)
        ((struct waiting *)e->recording->context)->e = NULL;
    e->recording = NULL;
    free(e->note);
    e->note = NULL;
    if (e->batch && --e->batch->users == 0) {
        link_remove(&e->batch->link);
        free(e->batch);
    }
}
