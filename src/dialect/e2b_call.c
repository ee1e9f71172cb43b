#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "dialect/e2b.h"
#include "http/route.h"

#define UNREAD_MAX ((size_t)1 << 20) /* of one client, then the agent is not read */
#define ANSWER_MAX ((size_t)128 << 20)

struct call {
    struct link link; /* of the sandbox's calls */
    uint64_t id;
    struct e2b_sandbox *sandbox; /* NULL: it is over, or the call is */
    struct exchange *x;          /* NULL: the client left */
    unsigned int status;
    const char *type;
    struct buf data;
    size_t sent;
    bool streams, ended, waits;
};

/* The agent names a type by a word of this table. */
static const struct {
    const char *kind, *type;
} kinds[] = { { "json", JSON_TYPE },
              { "lines", NDJSON_TYPE },
              { "bytes", BYTES_TYPE },
              { "connect", "application/connect+json" } };

static void leave_sandbox(struct call *c)
{
    struct e2b_sandbox *s = c->sandbox;
    scoped_free char *gone = NULL;

    if (!s)
        return;
    link_remove(&c->link);
    c->sandbox = NULL;
    e2b_hold(s, false);
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

    if (n == 0 && c->ended)
        return RESPONSE_END;
    if (n == 0) {
        c->waits = true;
        return 0;
    }
    memcpy(to, c->data.data, n);
    buf_drop(&c->data, n);
    if (c->sandbox && c->data.len < UNREAD_MAX)
        e2b_hold(c->sandbox, false);
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

static void reply_whole(struct call *c)
{
    struct exchange *x = c->x;
    size_t len = c->data.len;
    char *data = buf_take(&c->data, NULL);
    unsigned int status = c->status;
    const char *type = c->type;

    x->left = NULL;
    free_call(c);
    if (!status) { /* what is inside can write to the agent's channel */
        free(data);
        e2b_refuse(x, HTTP_BAD_GATEWAY, "the sandbox answered without a status");
        return;
    }
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

    if (c->status || status < HTTP_OK || status > 599)
        return;
    c->status = (unsigned int)status;
    c->streams = json_is_true(json_object_get(line, "stream"));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!strcmp(kinds[i].kind, translate_word(line, "kind")))
            c->type = kinds[i].type;
    if (c->streams)
        begin_stream(c);
}

static void take_data(struct call *c, const char *base64)
{
    scoped_free char *bytes = NULL;
    size_t len;

    if (encoding_from_base64(base64, &bytes, &len) < 0)
        return;
    buf_add(&c->data, bytes, len);
    if (c->streams && c->data.len >= UNREAD_MAX)
        e2b_hold(c->sandbox, true);
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
    if (json_is_true(json_object_get(line, "end")))
        end_call(c);
    else if (c->streams)
        resume(c);
}

void e2b_end_calls(struct e2b_sandbox *s)
{
    list_each(at, &s->calls) {
        struct call *c = link_owner(at, struct call, link);
        struct exchange *x = c->x;

        c->ended = true;
        if (c->streams) {
            leave_sandbox(c);
            resume(c);
        } else {
            x->left = NULL;
            free_call(c);
            e2b_refuse(x, HTTP_BAD_GATEWAY, "the sandbox is not running anymore");
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
    scoped_free char *text = NULL;

    exchange_each_query(x, add_pair, query);
    order = json_pack("{s:I, s:s, s:s, s:o, s:o, s:o}", "id", (json_int_t)id, "method", method,
                      "path", path, "query", query, "headers", headers_of(x), "body",
                      translate_base64(x->body.data, x->body.len));
    text = order ? json_dumps(order, JSON_COMPACT) : NULL;
    json_decref(order);
    return text ? text_format("%s\n", text) : NULL;
}

void e2b_call(struct exchange *x, struct e2b_sandbox *s)
{
    struct call *c = calloc(1, sizeof(*c));
    const char *path = !strncmp(x->path, "/e2b/", 5) ? x->path + 4 : x->path;
    scoped_free char *order = NULL;

    if (!c) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    *c = (struct call){ .id = ++s->next_call, .sandbox = s, .x = x, .type = JSON_TYPE };
    buf_init(&c->data, ANSWER_MAX);
    link_init(&c->link);
    list_append(&s->calls, &c->link);
    order = order_of(x, c->id, x->route->method, path);
    exchange_wait(x, client_left, c);
    if (order)
        e2b_order(s, order, strlen(order));
    else
        e2b_kill(s);
}
