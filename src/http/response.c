#include "http/response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fields.h"
#include "base/scope.h"
#include "wire/front.h"

#define FIELDS_MAX (FRONT_FRAME_MAX / 2)

static struct response *make(uint64_t len)
{
    const struct front_head head = { 0 };
    struct response *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->len = len;
    r->fd = -1;
    buf_init(&r->fields, FIELDS_MAX);
    buf_add(&r->fields, &head, sizeof(head));
    return r;
}

struct response *response_of_bytes(char *bytes, size_t len)
{
    struct response *r = make(len);

    if (r)
        r->bytes = bytes;
    else
        free(bytes);
    return r;
}

struct response *response_of_file(int fd, uint64_t len)
{
    struct response *r = make(len);

    if (r)
        r->fd = fd;
    return r;
}

struct response *response_of_stream(response_read *read, void *context, void (*done)(void *context))
{
    struct response *r = make(FRONT_LENGTH_UNKNOWN);

    if (!r)
        return NULL;
    r->read = read;
    r->context = context;
    r->done = done;
    return r;
}

struct response *response_of_upgrade(const struct visitor_user *user, void *context)
{
    struct response *r = make(0);

    if (!r)
        return NULL;
    r->upgrade = user;
    r->context = context;
    return r;
}

void response_free(struct response *r)
{
    if (!r)
        return;
    if (r->done)
        r->done(r->context);
    scope_close_fd(&r->fd);
    buf_done(&r->fields);
    free(r->bytes);
    free(r);
}

void response_add_header(struct response *r, const char *name, const char *value)
{
    if (!strpbrk(value, "\r\n")) /* it would become two */
        (void)fields_add(&r->fields, FRONT_FIELD_HEADER, name, value);
}

bool response_has_header(const struct response *r, const char *name)
{
    const char *at = r->fields.data + sizeof(struct front_head);
    const char *end = r->fields.data + r->fields.len;

    struct field field;

    while (fields_next(&at, end, &field))
        if (!strcasecmp(field.name, name))
            return true;
    return false;
}

ssize_t response_take(struct response *r, char *to, size_t max)
{
    size_t n = r->len - r->sent < max ? (size_t)(r->len - r->sent) : max;
    ssize_t got = (ssize_t)n;

    if (r->read)
        return r->read(r->context, to, max);
    if (n == 0)
        return RESPONSE_END;
    if (r->fd >= 0)
        got = pread(r->fd, to, n, (off_t)r->sent);
    else
        memcpy(to, r->bytes + r->sent, n);
    if (got <= 0)
        return RESPONSE_BROKEN;
    r->sent += (uint64_t)got;
    return got;
}
