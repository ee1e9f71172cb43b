/* What the agent of an E2B sandbox says, which any program in there can write, and the body that
 * asked for the sandbox.
 *
 * The first line is that body.  The rest comes from the agent in pieces, each behind a byte that
 * says what happens before it (`enum`).  Three calls wait for answers. */
#include "fuzz.h"
#include "http/offload.h"
#include "http/server.h"
#include "lib/runner.h"
#include "plan/language.h"

static struct server gateway;

/* The job's side is here: how much the agent may still say. */
static bool held;

static int fuzz_hold(sbr_job *job, bool hold)
{
    (void)job;
    held = hold;
    return 0;
}
#define sbr_job_hold_output fuzz_hold
#define sbr_job_write_stdin(job, data, len) ((void)(job), (void)(data), (int64_t)(len))
#define sbr_job_on_output(job, callback, context)                                                  \
    ((void)(job), (void)(callback), (void)(context), 0)
#define sbr_job_set_result_output(job, bytes) ((void)(job), 0)
#define runner_freeze(job, freeze) ((void)(job))
/* The texts of the kernels are ours, and long. */
#define language_find(name) ((void)(name), (const struct language *)NULL)

#include "../../src/dialect/e2b_call.c"
#include "../../src/dialect/e2b_create.c"
#include "../../src/dialect/e2b_sandbox.c"

#define CALLS 3
#define LONG_DATA ((size_t)200 << 10) /* two of them hold the agent */

enum { CLIENT_READS = 1, CLIENT_LEAVES, SAYS_MUCH };

/* One behind the other, as the agent itself is embedded. */
__asm__(".pushsection .rodata\n"
        ".globl e2b_agent_image_start, e2b_agent_image_end\n"
        "e2b_agent_image_start: .ascii \"pass\"\n"
        "e2b_agent_image_end: .byte 0\n"
        ".popsection\n");

struct client {
    struct exchange x;
    bool replied, left, over;
};
static struct client creator, clients[CALLS];
static const struct route route = { .method = "POST" };
static size_t long_lines;

static struct client *client_of(struct exchange *x)
{
    return link_owner(x, struct client, x);
}

/* Every exchange has one reply, with a status that is ours or that the agent may give. */
static void note_reply(struct exchange *x, unsigned int status)
{
    struct client *c = client_of(x);
    bool known = status == HTTP_CREATED || status == HTTP_BAD_GATEWAY;

    FUZZ_ASSERT(!c->replied && !c->left);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        known |= status == statuses[i];
    FUZZ_ASSERT(known);
    c->replied = true;
    x->status = status;
}

void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body)
{
    FUZZ_ASSERT(type && body);
    free(body);
    note_reply(x, status);
    client_of(x)->over = true;
}

void exchange_reply_bytes(struct exchange *x, unsigned int status, const char *type, char *body,
                          size_t len)
{
    FUZZ_ASSERT(len < UNREAD_MAX);
    exchange_reply(x, status, type, body);
}

void exchange_reply_with(struct exchange *x, unsigned int status, struct response *response)
{
    note_reply(x, status);
    x->response = response;
}

/* No reply is large. */
void exchange_reply_texts(struct exchange *x, unsigned int status, const char *type,
                          struct response_text *const *texts, size_t n)
{
    (void)x;
    (void)status;
    (void)type;
    (void)texts;
    (void)n;
    abort();
}

void apart_do(struct exchange *x, bool large, struct apart *a)
{
    (void)x;
    (void)large;
    (void)a;
    abort();
}

void exchange_wait(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    x->left = left;
    x->subject = subject;
}

void exchange_watch(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    exchange_wait(x, left, subject);
}

void exchange_resume(struct exchange *x)
{
    FUZZ_ASSERT(x->response);
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    (void)x;
    return name[0] == 'c' ? "text/plain" : NULL;
}

void exchange_each_query(const struct exchange *x, exchange_field *call, void *context)
{
    (void)x;
    call(context, "name", "%41");
}

void exchange_unescape(char *text)
{
    (void)text;
}

void offload_start(struct exchange *x, const struct offload *o)
{
    (void)x;
    (void)o;
    abort();
}

void execution_cancel(struct execution *e)
{
    (void)e;
}

struct execution *submission_start(struct exchange *x, const json_t *body,
                                   const struct submission_extra *extra)
{
    static struct execution execution;
    sbr_request *req = NULL;
    sbr_error err = { 0 };

    (void)extra;
    if (request_from_value(body, &req, &err) < 0) {
        FUZZ_ASSERT(err.code < 0 && err.message[0]);
        exchange_reply(x, HTTP_BAD_REQUEST, JSON_TYPE, strdup(err.message));
        return NULL;
    }
    FUZZ_ASSERT(req->n_volumes == 0);
    sbr_request_free(req);
    memset(&execution, 0, sizeof(execution));
    execution.job = (sbr_job *)&execution; /* nothing looks into it */
    return &execution;
}

static void finish(struct client *c)
{
    c->over = true;
    c->x.left = NULL;
    response_free(c->x.response);
    c->x.response = NULL;
}

/* Takes all that is there; `ended`: the sandbox is over, and so must the answer be. */
static void read_all(struct client *c, bool ended)
{
    static char data[32768];
    ssize_t n = 1;

    while (c->x.response && !c->over && n > 0) {
        n = response_take(c->x.response, data, sizeof(data));
        FUZZ_ASSERT(n <= (ssize_t)sizeof(data) && (n != 0 || !ended));
        if (n < 0)
            finish(c);
    }
}

static void leave(struct client *c)
{
    c->left = true;
    if (c->x.left)
        c->x.left(&c->x);
    finish(c);
}

static void say(struct e2b_sandbox *s, const char *data, size_t len)
{
    for (size_t i = 0; held && i < CALLS; i++)
        read_all(&clients[i], false);
    FUZZ_ASSERT(!held); /* what holds it up is an answer that a client can read */
    agent_said(s, SBR_STDOUT, data, len);
}

static void say_much(struct e2b_sandbox *s, unsigned int id)
{
    static char line[LONG_DATA + 64];
    int n = snprintf(line, 64, "{\"id\":%u,\"data\":\"", id);

    if (++long_lines > 16)
        return;
    memset(line + n, 'A', LONG_DATA);
    memcpy(line + n + LONG_DATA, "\"}\n", 3);
    say(s, line, (size_t)n + LONG_DATA + 3);
}

static void act(struct e2b_sandbox *s, const char *piece, size_t len)
{
    struct client *c = &clients[len ? (unsigned char)piece[0] % CALLS : 0];

    if (!len)
        return;
    if (piece[-1] == CLIENT_READS)
        read_all(c, false);
    else if (piece[-1] == CLIENT_LEAVES && !c->over)
        leave(c);
    else if (piece[-1] == SAYS_MUCH)
        say_much(s, (unsigned int)(c - clients) + 1);
    say(s, piece + 1, len - 1);
}

static void converse(struct e2b_sandbox *s, const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && !s->killed) {
        size_t n = 1;

        while (at + n < len && (unsigned char)text[at + n] > SAYS_MUCH)
            n++;
        act(s, text + at + 1, n - 1);
        at += n;
    }
}

static void end(struct e2b_sandbox *s)
{
    s->execution->is_error = false;
    sandbox_ended(s->execution, s);
    FUZZ_ASSERT(creator.replied || creator.left);
    for (size_t i = 0; i < CALLS; i++) {
        FUZZ_ASSERT(clients[i].replied || clients[i].left);
        read_all(&clients[i], true);
        FUZZ_ASSERT(clients[i].over);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *newline = memchr(data, '\n', size);
    size_t first = newline ? (size_t)(newline - text) : size;
    json_t *body = json_read(text, first, &json_read_line, JSON_ALLOW_NUL, "the body", NULL);
    struct e2b_sandbox *s;

    held = false;
    long_lines = 0;
    link_init(&gateway.sandboxes);
    creator = (struct client){ .x = { .route = &route, .server = &gateway } };
    e2b_create(&creator.x, body);
    json_decref(body);
    if (link_is_alone(&gateway.sandboxes)) {
        FUZZ_ASSERT(creator.replied);
        return 0;
    }
    s = link_owner(gateway.sandboxes.next, struct e2b_sandbox, link);
    for (size_t i = 0; i < CALLS; i++) {
        clients[i] =
            (struct client){ .x = { .route = &route, .server = &gateway, .path = "/e2b/files" } };
        e2b_call(&clients[i].x, s);
    }
    if (newline)
        converse(s, newline + 1, size - first - 1);
    end(s);
    FUZZ_ASSERT(link_is_alone(&gateway.sandboxes));
    return 0;
}
