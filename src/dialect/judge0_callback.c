/* Results to a URL: by a program in a sandbox whose network is that host alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialects.h"
#include "dialect/judge0.h"
#include "http/dialect.h"
#include "http/durable.h"
#include "http/offload.h"
#include "http/server.h"
#include "http/submission.h"

#define WALL_MS 20000
#define LARGE ((size_t)256 << 10)

/* As Judge0: PUT, three times, five seconds each.  Redirections of a PUT are not followed. */
static const char sender[] =
    "import sys, urllib.request\n"
    "body = sys.stdin.buffer.read()\n"
    "for attempt in range(3):\n"
    "    try:\n"
    "        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(\n"
    "            urllib.request.Request(sys.argv[1], body, {'Content-Type': 'application/json'},\n"
    "                                   method='PUT'), timeout=5)\n"
    "        break\n"
    "    except OSError:\n"
    "        pass\n";

/* A result on its way. */
struct sending {
    struct server *server;
    struct grant tenant;
    json_t *row;
    char host[JUDGE0_HOST_SIZE];
    sbr_request *req; /* NULL: there is none, and nobody who would learn why */
    char *text;       /* that it was read from, which is put on record */
};

static void make_request(struct sending *sending)
{
    const char *url = translate_word(sending->row, "callback_url");
    json_t *shown = judge0_show(sending->row, true, NULL), *request;
    scoped_free char *body = shown ? json_dumps(shown, JSON_COMPACT) : NULL;
    struct refusal fault = { 0 };

    json_decref(shown);
    request = json_pack("{s:s, s:s, s:[s], s:s, s:[s], s:{s:i}}", "language", "python", "code",
                        sender, "args", url, "stdin", body ? body : "", "allow_hosts",
                        sending->host, "limits", "wall_ms", WALL_MS);
    if (submission_read(sending->server, &sending->tenant, request, &sending->req, &fault) == 0)
        sending->text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
}

/* It is on record, and goes out once. */
static void accepted(struct execution *e, const sbr_error *err)
{
    if (err)
        execution_free(e);
    else
        durable_begin(e);
}

static void put_on_record(struct execution *e, struct sending *sending)
{
    struct joblog_text text = { .bytes = take_ptr(sending->text) };
    json_t *note = json_pack("{s:s}", "callback", translate_word(sending->row, "callback_url"));
    sbr_error ignored;

    text.len = text.bytes ? strlen(text.bytes) : 0;
    snprintf(e->dialect, sizeof(e->dialect), "%s", dialect_judge0.name);
    /* Without a key it is free: whose result this is. */
    snprintf(e->fingerprint, sizeof(e->fingerprint), "%s", translate_word(sending->row, "token"));
    e->note = json_dumps(note, JSON_COMPACT);
    json_decref(note);
    if (execution_record_accept(e, text, true, accepted, &ignored) < 0)
        execution_begin(e); /* without a record it still goes out */
}

static void launch(struct sending *sending)
{
    const struct submission_extra extra = { .mode = EXECUTION_QUEUED };
    struct refusal fault = { 0 };
    struct execution *e;

    if (sending->req &&
        submission_launch(sending->server, &sending->tenant, sending->req, &extra, &e, &fault) == 0)
        put_on_record(e, sending);
    json_decref(sending->row);
    free(sending->text);
    free(sending);
}

static int make_apart(struct offload *o, sbr_error *err)
{
    (void)err;
    make_request(o->extra);
    return 0;
}

static void made_apart(struct offload *o, const sbr_error *err)
{
    (void)err;
    launch(o->extra);
}

bool judge0_call_back_again(const struct execution *e, const json_t *note)
{
    return !strcmp(e->tenant, GRANT_LOCAL) &&
           judge0_callback_is_allowed(e->server, translate_word(note, "callback"));
}

void judge0_call_back(struct server *server, const struct judge0_submission *s)
{
    const char *url = json_string_value(json_object_get(s->row, "callback_url"));
    struct offload o = { .work = make_apart, .done = made_apart };
    struct sending *sending;

    if (!url || !judge0_callback_is_allowed(server, url))
        return;
    sending = calloc(1, sizeof(*sending));
    if (!sending)
        return;
    sending->server = server;
    sending->row = json_copy(s->row);
    grant_init_local(&sending->tenant); /* the operator allowed the host, not the token */
    (void)judge0_callback_host(url, sending->host);
    o.extra = sending;
    if (judge0_bytes(s->row) > LARGE && offload_start_own(server, &o) == 0)
        return;
    make_request(sending);
    launch(sending);
}

static bool is_on_record(const struct server *server, const struct judge0_submission *s)
{
    list_each(at, (struct link *)&server->executions) {
        const struct execution *e = link_owner(at, struct execution, link);

        if (!strcmp(e->dialect, dialect_judge0.name) && !strcmp(e->fingerprint, s->token))
            return true;
    }
    return false;
}

void judge0_call_back_unsent(struct server *server)
{
    list_each(at, &server->submissions) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (s->unsent && !is_on_record(server, s))
            judge0_call_back(server, s);
        s->unsent = false;
    }
}
