
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "http/dialect.h"
#include "http/durable.h"
#include "http/joblog.h"
#include "http/server.h"
#include "http/submission.h"
#include "http/token.h"

#define RETRY_US 100000 /* between two looks whether there is room */
#define LOST "the run was lost when the gateway was killed: it had begun, so it is not run again"

/* A job that has not ended. */
struct unfinished {
    struct link link; /* of the server's; the oldest first */
    struct execution *e;
    char *request; /* NULL: it had begun */
    size_t len;
    sbr_request *req; /* NULL: it was not read yet */
    const char *why;  /* it cannot be begun; NULL: it can */
};

static const struct dialect *dialect_of(const struct server *server, const char *name)
{
    for (size_t i = 0; server->options.dialects[i]; i++)
        if (!strcmp(server->options.dialects[i]->name, name))
            return server->options.dialects[i];
    return NULL;
}

/* False: its dialect is not served now, or does not want it. */
static bool restore_note(struct execution *e, const struct joblog_job *job)
{
    const struct dialect *dialect = dialect_of(e->server, job->dialect);
    json_t *note = dialect && dialect->restore && job->note.bytes
                       ? json_read_own(job->note.bytes, JSON_ALLOW_NUL)
                       : NULL;
    bool taken = note && dialect->restore(e, note);

    json_decref(note);
    return taken;
}

/* How long ago a time since 1970 was; nothing for one that is to come. */
static uint64_t age_of(uint64_t us)
{
    uint64_t now = clock_read_us(CLOCK_REALTIME);

    return us < now ? now - us : 0;
}

/* The time of our clock so long ago; the clock may have begun later. */
static uint64_t before(uint64_t age_us)
{
    uint64_t now = clock_now_us();

    return now > age_us ? now - age_us : 0;
}

/* A result that is an error says which. */
static void restore_error(struct execution *e)
{
    json_t *result = json_read_own(e->text ? e->text->bytes : "", JSON_ALLOW_NUL);
    const char *message =
        json_string_value(json_object_get(json_object_get(result, "error"), "message"));

    err_set(&e->err, SBR_E_SYSTEM, "joblog", "%s", message ? message : "the run failed");
    json_decref(result);
}

static void restore_end(struct execution *e, const struct joblog_job *job)
{
    uint64_t lasted = job->ended_us > job->created_us ? job->ended_us - job->created_us : 0;

    (void)life_take_run(&e->state, RUN_RESULT);
    link_remove(&e->live);
    e->is_error = job->is_error;
    e->ended_us = before(age_of(job->ended_us));
    e->started_us = e->ended_us > lasted ? e->ended_us - lasted : 0;
    e->lines.started_us = before(lasted);
    e->lines.seq = e->log.first = job->events; /* those before are gone */
    e->text = response_text_of(strdup(job->result.bytes));
    snprintf(e->outcome, sizeof(e->outcome), "%s", job->outcome);
    snprintf(e->output_id, sizeof(e->output_id), "%s", job->output_id);
    if (e->is_error)
        restore_error(e);
    execution_settle(e);
}

static void restore_unfinished(struct execution *e, const struct joblog_job *job)
{
    struct unfinished *u = calloc(1, sizeof(*u));

    if (!u)
        return; /* it stays on record */
    if (job->state == JOBLOG_BEGUN)
        execution_has_begun(e);
    u->e = e;
    u->len = job->request.len;
    u->request = job->state == JOBLOG_ACCEPTED ? strdup(job->request.bytes) : NULL;
    link_init(&u->link);
    list_append(&e->server->restored, &u->link);
    if (job->dialect[0] && !restore_note(e, job) && job->state == JOBLOG_ACCEPTED)
        u->why = "the gateway does not take this job any more: its dialect is not served, or what "
                 "it asks for is not allowed now";
}

static void restore(void *context, const struct joblog_job *job)
{
    struct server *server = context;
    struct grant tenant = { .scopes = 0 };
    struct refusal ignored; /* it takes nothing before it begins */
    struct execution *e;

    snprintf(tenant.name, sizeof(tenant.name), "%s", job->tenant);
    snprintf(tenant.token_id, sizeof(tenant.token_id), "%s", job->token_id);
    e = execution_open(server, &tenant, NULL, &ignored);
    if (!e)
        return;
    e->restored = e->durable = true;
    e->created_us = job->created_us;
    e->started_us = before(age_of(job->created_us));
    memcpy(e->id, job->id, sizeof(e->id));
    snprintf(e->language, sizeof(e->language), "%s", job->language);
    snprintf(e->dialect, sizeof(e->dialect), "%s", job->dialect);
    if (!job->batch[0]) {
        memcpy(e->key, job->key, sizeof(e->key));
        memcpy(e->fingerprint, job->fingerprint, sizeof(e->fingerprint));
    }
    if (job->state == JOBLOG_ENDED)
        restore_end(e, job);
    else
        restore_unfinished(e, job);
    if (job->state == JOBLOG_ENDED && job->dialect[0])
        (void)restore_note(e, job);
    if (job->batch[0])
        batch_jobs_restore(e, job);
}

void restoration_open(struct server *server)
{
    const char *name = server->options.socket ? server->options.socket : server->options.address;
    sbr_error err;

    if (joblog_open(name ? name : "", &server->loop, restore, server, &server->joblog, &err) < 0)
        dprintf(STDERR_FILENO, "http: no asynchronous job is accepted: %s\n", err.message);
    restoration_run(server);
}

static void forget(struct unfinished *u)
{
    link_remove(&u->link);
    free(u->request);
    sbr_request_free(u->req);
    free(u);
}

static int find_tenant(const struct execution *e, struct grant *ret, sbr_error *err)
{
    if (!e->token_id[0] && !strcmp(e->tenant, GRANT_LOCAL))
        grant_init_local(ret);
    else if (!token_grants(e->server->tokens, e->token_id, ret) ||
             strcmp(ret->name, e->tenant) != 0)
        return err_set(err, SBR_E_DENIED, "joblog",
                       "the run did not begin, because its token was revoked");
    return 0;
}

/* The configuration and the roots are those of now. */
static int read_request(struct unfinished *u, const struct grant *tenant, struct refusal *refusal)
{
    json_t *body = submission_parse(u->request, u->len, refusal);
    int r = body ? submission_read(u->e->server, tenant, body, &u->req, refusal) : -1;

    json_decref(body);
    free(take_ptr(u->request));
    if (r == 0 && u->e->add)
        r = u->e->add(u->req, u->e->ended_context, &refusal->err);
    return r;
}

/* So is the token: it is asked before each attempt. */
static int try_again(struct unfinished *u, struct refusal *refusal)
{
    sbr_error *err = &refusal->err;
    struct grant tenant;

    if (u->why)
        return err_set(err, SBR_E_UNSUPPORTED, "joblog", "%s", u->why);
    if (life_is_cancelled(u->e->state))
        return err_set(err, SBR_E_BUSY, "joblog", "the run was cancelled before it began");
    if (find_tenant(u->e, &tenant, err) < 0 || (!u->req && read_request(u, &tenant, refusal) < 0))
        return -1;
    refusal->kind = REFUSED_BY_ERROR;
    if (execution_resume(u->e, &tenant, u->req, refusal) < 0) {
        if (refusal->kind != REFUSED_FULL)
            u->req = NULL;
        return -1;
    }
    u->req = NULL;
    return 0;
}

/* False: there is no room for it now. */
static bool begin_again(struct unfinished *u)
{
    struct refusal refusal = { 0 };
    int r = try_again(u, &refusal);

    if (r < 0 && u->req && refusal.kind == REFUSED_FULL)
        return false;
    if (r == 0)
        durable_begin(u->e);
    else
        durable_fail(u->e, &refusal.err);
    forget(u);
    return true;
}

static void lose(struct unfinished *u)
{
    sbr_error err;

    err_set(&err, SBR_E_SYSTEM, "joblog", LOST);
    durable_fail(u->e, &err);
    forget(u);
}

/* A tenant that has no room does not hold up the others. */
static void take_unfinished(struct server *server)
{
    const char *full = "";
    uint64_t now = clock_now_us();

    if (link_is_alone(&server->restored) || !server->joblog || server->ending ||
        now < server->restored_us + RETRY_US)
        return;
    server->restored_us = now;
    list_each(at, &server->restored) {
        struct unfinished *u = link_owner(at, struct unfinished, link);

        if (life_has_begun(u->e->state))
            lose(u);
        else if (strcmp(u->e->tenant, full) != 0 && !begin_again(u))
            full = u->e->tenant;
    }
}

void restoration_run(struct server *server)
{
    take_unfinished(server);
    joblog_flush(server->joblog);
}

unsigned int restoration_waiting(const struct server *server)
{
    unsigned int n = 0;

    list_each(at, (struct link *)&server->restored)
        n += at != NULL;
    return n;
}

void restoration_close(struct server *server)
{
    list_each(at, &server->restored)
        forget(link_owner(at, struct unfinished, link));
}
