#include "http/exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fields.h"
#include "base/reply_head.h"
#include "http/server.h"
#include "wire/front.h"

/* Finds method and path, and checks that all fields read well. */
static bool look_at_fields(struct exchange *x)
{
    const char *at = x->fields, *end = x->fields + x->fields_len;
    struct field field;

    while (fields_next(&at, end, &field)) {
        if (field.kind == FRONT_FIELD_METHOD)
            x->method = field.value;
        if (field.kind == FRONT_FIELD_PATH)
            x->path = field.value;
    }
    return at == end && x->method && x->path;
}

struct exchange *exchange_new(struct visitor *visitor, const char *fields, size_t len)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->server = visitor->server;
    x->visitor = visitor;
    x->began_us = clock_now_us();
    link_init(&x->link);
    link_init(&x->ready);
    buf_init(&x->body, visitor->server->options.max_body);
    x->fields = malloc(len + 1);
    x->fields_len = len;
    if (x->fields)
        memcpy(x->fields, fields, len);
    if (!x->fields || !look_at_fields(x)) {
        free(x->fields);
        free(x);
        return NULL;
    }
    return x;
}

void exchange_free(struct exchange *x)
{
    void (*left)(struct exchange * x) = x->left;

    x->left = NULL;
    if (left)
        left(x);
    link_remove(&x->link);
    link_remove(&x->ready);
    response_free(take_ptr(x->response));
    for (size_t i = 0; i < EXCHANGE_MAX_WORDS; i++)
        free(x->words[i]);
    if (x->read)
        x->free_read(x->read);
    buf_done(&x->body);
    free(x->fields);
    free(x);
}

static void each_field(const struct exchange *x, char kind, exchange_field *call, void *context)
{
    const char *at = x->fields, *end = x->fields + x->fields_len;
    struct field field;

    while (fields_next(&at, end, &field))
        if (field.kind == kind)
            call(context, field.name, field.value);
}

void exchange_each_header(const struct exchange *x, exchange_field *call, void *context)
{
    each_field(x, FRONT_FIELD_HEADER, call, context);
}

void exchange_each_query(const struct exchange *x, exchange_field *call, void *context)
{
    each_field(x, FRONT_FIELD_QUERY, call, context);
}

static const char *find_field(const struct exchange *x, char kind, const char *wanted)
{
    const char *at = x->fields, *end = x->fields + x->fields_len;
    struct field field;

    while (fields_next(&at, end, &field))
        if (field.kind == kind && !strcasecmp(field.name, wanted))
            return field.value;
    return NULL;
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    return find_field(x, FRONT_FIELD_HEADER, name);
}

const char *exchange_query(const struct exchange *x, const char *name)
{
    return find_field(x, FRONT_FIELD_QUERY, name);
}

static int digit_of(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

void exchange_unescape(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (*text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2])) {
            *to++ = (char)(digit_of(text[1]) * 16 + digit_of(text[2]));
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

const char *exchange_accepts(const struct exchange *x)
{
    static const char *const types[] = { JSON_TYPE, SSE_TYPE, NDJSON_TYPE };
    const char *accept = exchange_header(x, HTTP_HEADER_ACCEPT), *best = JSON_TYPE;
    const char *first = NULL;

    for (size_t i = 0; accept && i < ARRAY_LEN(types); i++) {
        const char *at = strstr(accept, types[i]);

        if (at && (!first || at < first)) {
            first = at;
            best = types[i];
        }
    }
    return best;
}

/* For every reply: nothing is stored, and no browser takes it for something else. */
static void add_common_headers(struct response *response)
{
    static const char *const headers[][2] = {
        { HTTP_HEADER_CACHE_CONTROL, "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
    };

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (!response_has_header(response, headers[i][0]))
            response_add_header(response, headers[i][0], headers[i][1]);
}

void exchange_reply_with(struct exchange *x, unsigned int status, struct response *response)
{
    bool waited = x->visitor->life == LIFE_WAITING;

    if (!response || !life_take(&x->visitor->life, LIFE_REPLY)) {
        response_free(response);
        return;
    }
    if (!response->upgrade && !reply_head_knows(status))
        status = HTTP_BAD_GATEWAY; /* nothing of ours has another status */
    if (!response->upgrade && !reply_head_has_body(status))
        response_drop_body(response);
    add_common_headers(response);
    x->status = status;
    x->response = response;
    if (waited)
        x->left = NULL;
    link_remove(&x->link);
    exchange_resume(x);
}

void exchange_resume(struct exchange *x)
{
    if (life_take(&x->visitor->life, LIFE_MORE) && link_is_alone(&x->ready))
        list_append(&x->server->ready, &x->ready);
}

void exchange_reply_bytes(struct exchange *x, unsigned int status, const char *type, char *body,
                          size_t len)
{
    static const char nothing[] = "{\"title\":\"out of memory\",\"status\":503}";
    struct response *response =
        body ? response_of_bytes(body, len) : response_of_bytes(strdup(nothing), strlen(nothing));

    if (response)
        response_add_header(response, HTTP_HEADER_CONTENT_TYPE, type);
    exchange_reply_with(x, body ? status : HTTP_SERVICE_UNAVAILABLE, response);
}

void exchange_reply_texts(struct exchange *x, unsigned int status, const char *type,
                          struct response_text *const *texts, size_t n)
{
    struct response *response;
    size_t there = 0;

    while (there < n && texts[there])
        there++;
    response = there == n ? response_of_texts(texts, n) : NULL;
    if (!response) {
        exchange_reply_bytes(x, status, type, NULL, 0);
        return;
    }
    response_add_header(response, HTTP_HEADER_CONTENT_TYPE, type);
    exchange_reply_with(x, status, response);
}

void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body)
{
    exchange_reply_bytes(x, status, type, body, body ? strlen(body) : 0);
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    if (x->response)
        response_add_header(x->response, name, value);
}

void exchange_watch(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    x->left = left;
    x->subject = subject;
}

void exchange_go_on(struct exchange *x)
{
    (void)life_take(&x->visitor->life, LIFE_GO_ON);
    x->left = NULL;
    link_remove(&x->link);
}

void exchange_wait(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    exchange_watch(x, left, subject);
    if (life_take(&x->visitor->life, LIFE_WAIT) && link_is_alone(&x->link))
        list_append(&x->server->waiting, &x->link);
}
