#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "dialect/e2b.h"
#include "http/route.h"

#define UNREAD_MAX ((size_t)256 << 10) /* of one client, then the agent is not read */
/* The agent is not read any more, but what was read may have lines of up to a megabyte. */
#define DATA_MAX ((size_t)4 << 20)
#define ORDERS_MAX ((size_t)64 << 20) /* that the agent has not taken */

#define NO_STATUS "the sandbox answered without a status that its agent gives"

struct call {
    struct link link; /* of the sandbox's calls */
    uint64_t id;
    struct e2b_sandbox *sandbox; /* NULL: it is over, or the call is */
    struct exchange *x;          /* NULL: the client left */
    unsigned int status;
    const char *type;
    struct buf data;
    bool streams, ended, waits;
    bool broken; /* part of the answer is lost */
};

/* The agent names a type by a word of this table. */
static const struct {
    const char *kind, *type;
} kinds[] = { { "json", JSON_TYPE },
              { "lines", NDJSON_TYPE },
              { "bytes", BYTES_TYPE },
              { "connect", "application/connect+json" } };

/* What is inside can write to the agent's channel: an answer has one of the statuses that the agent
 * gives. */
static const unsigned int statuses[] = {
    HTTP_OK,        HTTP_BAD_REQUEST, HTTP_UNAUTHORIZED,          HTTP_FORBIDDEN,
    HTTP_NOT_FOUND, HTTP_CONFLICT,    HTTP_INTERNAL_SERVER_ERROR, HTTP_NOT_IMPLEMENTED,
};

/* The agent is not read while one of its clients has as much to take as it may have. */
static void hold_or_go_on(struct e2b_sandbox *s)
{
    bool full = false;

    list_each(at, &s->calls)
        full |= link_owner(at, struct call, link)->data.len >= UNREAD_MAX;
    e2b_hold(s, full);
}

static void leave_sandbox(struct call *c)
{
    struct e2b_sandbox *s = c->sandbox;
    scoped_free char *gone = NULL;

    if (!s)
        return;
    link_remove(&c->link);
    c->sandbox = NULL;
    hold_or_go_on(s);
    if (c->ended)
        return;
    gone = text_format("{\"id\":%llu,\"gone\":true}\n", (unsigned long long)c->id);
    if (gone)
        e2b_order(s, gone, strlen(gone));
}

static void free_call(void *context)
{
    struct call *c = context;

    leave_sandbox(c);
    buf_done(&c->data);
    free(c);
}

static void resume(struct call *c)
{
    if (!c->waits)
        return;
    c->waits = false;
    exchange_resume(c->x);
}

/* Called when the channel takes more. */
static ssize_t read_data(void *context, char *to, size_t max)
{
    struct call *c = context;
    size_t n = c->data.len < max ? c->data.len : max;

    if (n == 0 && c->broken)
        return RESPONSE_BROKEN;
    if (n == 0 && c->ended)
        return RESPONSE_END;
    if (n == 0) {
        c->waits = true;
        return 0;
    }
    memcpy(to, c->data.data, n);
    buf_drop(&c->data, n);
    if (c->sandbox)
        hold_or_go_on(c->sandbox);
    return (ssize_t)n;
}

/* The client of a stream is gone. */
static void stream_left(struct exchange *x)
{
    struct call *c = x->subject;

    leave_sandbox(c);
    c->ended = true;
}

static void begin_stream(struct call *c)
{
    struct exchange *x = c->x;
    struct response *response = response_of_stream(read_data, c, free_call);

    c->streams = true;
    if (!response) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        free_call(c);
        return;
    }
    response_add_header(response, HTTP_HEADER_CONTENT_TYPE, c->type);
    x->left = NULL;
    exchange_reply_with(x, c->status, response);
    exchange_watch(x, stream_left, c);
}

/* The client left before the answer began. */
static void client_left(struct exchange *x)
{
    free_call(x->subject);
}

static void refuse(struct call *c, const char *why)
{
    struct exchange *x = c->x;

    x->left = NULL;
    free_call(c);
    e2b_refuse(x, HTTP_BAD_GATEWAY, why);
}

static void reply_whole(struct call *c)
{
    struct exchange *x = c->x;
    size_t len = c->data.len;
    char *data = buf_take(&c->data, NULL);
    unsigned int status = c->status;
    const char *type = c->type;

    if (!status) {
        free(data);
        refuse(c, NO_STATUS);
        return;
    }
    x->left = NULL;
    free_call(c);
    exchange_reply_bytes(x, status, type, data, len);
}

static struct call *find(const struct e2b_sandbox *s, uint64_t id)
{
    list_each(at, (struct link *)&s->calls) {
        struct call *c = link_owner(at, struct call, link);

        if (c->id == id)
            return c;
    }
    return NULL;
}

static void take_head(struct call *c, const json_t *line)
{
    json_int_t status = json_integer_value(json_object_get(line, "status"));

    for (size_t i = 0; i < ARRAY_LEN(statuses) && !c->status; i++)
        if (status == statuses[i])
            c->status = statuses[i];
    if (!c->status || c->streams)
        return;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!strcmp(kinds[i].kind, translate_word(line, "kind")))
            c->type = kinds[i].type;
    if (json_is_true(json_object_get(line, "stream")))
        begin_stream(c);
}

static void take_data(struct call *c, const char *base64)
{
    scoped_free char *bytes = NULL;
    size_t len;

    if (encoding_from_base64(base64, &bytes, &len) < 0)
        return;
    c->broken |= buf_add(&c->data, bytes, len) < 0;
    if (c->data.len < UNREAD_MAX)
        return;
    hold_or_go_on(c->sandbox);
    if (!c->status)
        refuse(c, NO_STATUS);
    else if (!c->streams) /* one that is short is sent with its length */
        begin_stream(c);
}

static void end_call(struct call *c)
{
    c->ended = true;
    if (c->streams) {
        leave_sandbox(c);
        resume(c);
    } else {
        reply_whole(c);
    }
}

void e2b_answer(struct e2b_sandbox *s, const json_t *line)
{
    json_int_t id = json_integer_value(json_object_get(line, "id"));
    struct call *c = id > 0 ? find(s, (uint64_t)id) : NULL;
    const json_t *data = json_object_get(line, "data");

    if (!c)
        return;
    take_head(c, line);
    if (!find(s, (uint64_t)id))
        return;
    if (json_is_string(data))
        take_data(c, json_string_value(data));
    if (!find(s, (uint64_t)id))
        return;
    if (json_is_true(json_object_get(line, "end")))
        end_call(c);
    else if (c->streams)
        resume(c);
}

void e2b_end_calls(struct e2b_sandbox *s)
{
    list_each(at, &s->calls) {
        struct call *c = link_owner(at, struct call, link);

        c->ended = true;
        if (c->streams) {
            c->broken = true; /* its client must not take the part for the whole */
            leave_sandbox(c);
            resume(c);
        } else {
            refuse(c, "the sandbox is not running anymore");
        }
    }
}

static void add_pair(void *context, const char *name, const char *value)
{
    scoped_free char *plain = strdup(value);

    if (!plain)
        return;
    exchange_unescape(plain);
    json_object_set_new(context, name, translate_text(plain, strlen(plain)));
}

/* Only what an answer depends on: no token goes inside. */
static json_t *headers_of(const struct exchange *x)
{
    static const char *const names[] = { "content-type", "connect-timeout-ms" };
    json_t *headers = json_object();

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = exchange_header(x, names[i]);

        if (value)
            json_object_set_new(headers, names[i], translate_text(value, strlen(value)));
    }
    return headers;
}

static char *order_of(const struct exchange *x, uint64_t id, const char *method, const char *path)
{
    json_t *query = json_object(), *order;
    scoped_free char *text = NULL, *body = NULL;
    struct buf out;

    exchange_each_query(x, add_pair, query);
    order = json_pack("{s:I, s:s, s:s, s:o, s:o}", "id", (json_int_t)id, "method", method, "path",
                      path, "query", query, "headers", headers_of(x));
    text = order ? json_dumps(order, JSON_COMPACT) : NULL;
    json_decref(order);
    body = encoding_to_base64(x->body.data ? x->body.data : "", x->body.len);
    if (!text || !body)
        return NULL;
    text[strlen(text) - 1] = '\0'; /* the body goes into it without a look at each byte */
    buf_init(&out, SIZE_MAX / 2);
    (void)(buf_add_text(&out, text) + buf_add_text(&out, ",\"body\":\"") +
           buf_add_text(&out, body) + buf_add_text(&out, "\"}\n"));
    return buf_take(&out, NULL);
}

void e2b_call(struct exchange *x, struct e2b_sandbox *s)
{
    const char *path = !strncmp(x->path, "/e2b/", 5) ? x->path + 4 : x->path;
    scoped_free char *order = NULL;
    struct call *c;

    if (s->orders.len > ORDERS_MAX - 2 * x->body.len) {
        e2b_refuse(x, HTTP_TOO_MANY_REQUESTS, "the sandbox has not taken the calls before this");
        return;
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    *c = (struct call){ .id = ++s->next_call, .sandbox = s, .x = x, .type = JSON_TYPE };
    buf_init(&c->data, DATA_MAX);
    link_init(&c->link);
    list_append(&s->calls, &c->link);
    order = order_of(x, c->id, x->route->method, path);
    exchange_wait(x, client_left, c);
    if (order)
        e2b_order(s, order, strlen(order));
    else
        e2b_kill(s);
}
