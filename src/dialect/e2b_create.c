/* The start of a sandbox, and what its agent says. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "dialect/e2b.h"
#include "http/server.h"
#include "http/submission.h"
#include "plan/language.h"

#define LINE_BYTES ((size_t)1 << 20)     /* the agent's lines are shorter than 100 KiB */
#define ORDERS_BYTES ((size_t)128 << 20) /* e2b_call.c takes no more of them before that */
#define FOLDER ".e2b"

extern const unsigned char e2b_agent_image_start[], e2b_agent_image_end[];

static void reply_to_creator(struct e2b_sandbox *s, const char *failure)
{
    struct exchange *x = s->creator;

    s->creator = NULL;
    if (!x)
        return;
    if (failure)
        e2b_refuse(x, HTTP_INTERNAL_SERVER_ERROR, failure);
    else
        translate_reply(x, HTTP_CREATED, e2b_describe(x, s));
}

static void sandbox_ended(struct execution *e, void *context)
{
    struct e2b_sandbox *s = context;

    s->execution = NULL;
    e2b_end_calls(s);
    reply_to_creator(s, e->is_error ? e->err.message : "the sandbox ended before it was ready");
    e2b_free(s);
}

static void room_for_orders(struct execution *e, void *context)
{
    (void)e;
    e2b_send(context);
}

static void take_line(struct e2b_sandbox *s, const char *text, size_t len)
{
    json_t *line = json_read(text, len, &json_read_line, JSON_REJECT_DUPLICATES, "the line", NULL);

    if (json_is_true(json_object_get(line, "ready")) && !s->ready) {
        s->ready = true;
        reply_to_creator(s, NULL);
    } else if (line) {
        e2b_answer(s, line);
    }
    json_decref(line);
}

static void agent_said(void *context, int stream, const char *data, size_t len)
{
    struct e2b_sandbox *s = context;
    const char *newline;
    size_t at = 0;

    if (stream != SBR_STDOUT)
        return;
    if (buf_add(&s->said, data, len) < 0) {
        e2b_kill(s);
        return;
    }
    while (at < s->said.len && (newline = memchr(s->said.data + at, '\n', s->said.len - at))) {
        size_t n = (size_t)(newline - s->said.data) - at;

        if (n)
            take_line(s, s->said.data + at, n);
        at += n + 1;
    }
    buf_drop(&s->said, at); /* once: a program may say nothing but newlines */
}

/* The kernels of our sessions go along. */
static void add_drivers(json_t *files)
{
    static const char *const names[] = { "python", "javascript", "bash" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct language *l = language_find(names[i]);

        for (size_t j = 0; l && j < l->drivers.n; j++) {
            scoped_free char *path = text_format(FOLDER "/%s", l->drivers.at[j]);

            if (path)
                translate_add_file(files, path, json_string(l->driver_texts.at[j]), "utf-8");
        }
    }
}

/* Its own time bounds the sandbox, up to the token's. */
static json_t *limits_of(const struct grant *tenant)
{
    uint64_t most = grant_most(tenant, SBR_WALL_MS);
    json_t *limits = json_object();

    json_object_set_new(limits, "wall_ms",
                        most == LIMIT_NONE ? json_null() : json_integer((json_int_t)most));
    return limits;
}

static json_t *request_of(const struct grant *tenant, const json_t *body)
{
    size_t len = (size_t)(e2b_agent_image_end - e2b_agent_image_start);
    json_t *files = json_array(), *request, *env = json_object_get(body, "envVars");

    translate_add_file(files, FOLDER "/agent.py",
                       json_stringn((const char *)e2b_agent_image_start, len), "utf-8");
    add_drivers(files);
    request =
        json_pack("{s:s, s:b, s:[s, s, s], s:o, s:o}", "language", "python", "command", 1, "args",
                  "python3", "-B", FOLDER "/agent.py", "files", files, "limits", limits_of(tenant));
    if (json_is_object(env))
        json_object_set(request, "env", env);
    if (json_is_true(json_object_get(body, "allow_internet_access")))
        json_object_set_new(request, "network", json_string("full"));
    return request;
}

static void creator_left(struct exchange *x)
{
    struct e2b_sandbox *s = x->subject;

    s->creator = NULL;
    e2b_kill(s);
}

static struct e2b_sandbox *make(struct exchange *x, const json_t *body)
{
    struct e2b_sandbox *s = calloc(1, sizeof(*s));
    json_t *metadata = json_object_get(body, "metadata");
    const char *template = translate_word(body, "templateID");
    json_int_t timeout = json_integer_value(json_object_get(body, "timeout"));

    if (!s || encoding_random_id(s->id) < 0) {
        free(s);
        return NULL;
    }
    s->tenant = x->tenant;
    s->server = x->server;
    s->about = json_pack("{s:s, s:O?}", "templateID", template[0] ? template : "base", "metadata",
                         json_is_object(metadata) ? metadata : NULL);
    s->pauses = json_is_true(json_object_get(body, "autoPause"));
    s->resumes =
        s->pauses && json_is_true(json_object_get(json_object_get(body, "autoResume"), "enabled"));
    s->started_us = clock_read_us(CLOCK_REALTIME);
    e2b_set_timeout(s, timeout > 0 ? timeout : E2B_TIMEOUT_S);
    buf_init(&s->said, LINE_BYTES);
    buf_init(&s->orders, ORDERS_BYTES);
    link_init(&s->calls);
    link_init(&s->link);
    list_append(&s->server->sandboxes, &s->link);
    return s;
}

static int connect_agent(struct e2b_sandbox *s)
{
    sbr_job *job = s->execution->job;

    s->execution->ended = sandbox_ended;
    s->execution->ended_context = s;
    s->execution->room = room_for_orders;
    return sbr_job_on_output(job, agent_said, s) < 0 || sbr_job_set_result_output(job, 0) < 0 ||
                   sbr_job_write_stdin(job, "", 0) < 0
               ? -1
               : 0;
}

/* A run as any other, which counts for the tenant's concurrency, too. */
void e2b_create(struct exchange *x, const json_t *body)
{
    struct e2b_sandbox *s = make(x, body);
    json_t *request;

    if (!s) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    request = request_of(&x->tenant, body);
    s->execution =
        submission_start(x, request,
                         &(struct submission_extra){ .mode = EXECUTION_WAITED, .lives = true });
    json_decref(request);
    if (!s->execution) {
        e2b_free(s);
        return;
    }
    s->creator = x;
    exchange_wait(x, creator_left, s);
    if (connect_agent(s) < 0)
        e2b_kill(s);
}
