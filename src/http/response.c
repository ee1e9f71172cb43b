#include "http/response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fields.h"
#include "base/reply_head.h"
#include "wire/front.h"

#define FIELDS_MAX (FRONT_FRAME_MAX / 2)
#define DIRECT_MAX 16384 /* an empty socket takes it in one piece */

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

/* The next bytes of the texts, up to `max`; none when that is below RESPONSE_TEXT_ROOM. */
static size_t take_texts(struct response *r, char *to, size_t max)
{
    size_t n = 0;

    while (max - n >= RESPONSE_TEXT_ROOM && r->at_text < r->n_texts) {
        const struct response_text *text = r->texts[r->at_text];

        n += response_text_read(text, &r->place, to + n, max - n);
        if (r->place.done < text->len)
            break;
        response_text_drop(take_ptr(r->texts[r->at_text]));
        r->at_text++;
        r->place = (struct response_place){ 0 };
    }
    return n;
}

static void drop_body(struct response *r)
{
    for (size_t i = r->at_text; i < r->n_texts; i++)
        response_text_drop(r->texts[i]);
    free(take_ptr(r->texts));
    free(take_ptr(r->bytes));
    r->n_texts = r->at_text = 0;
}

/* Short ones become bytes, which go out in one piece. */
static bool join(struct response *r)
{
    const size_t room = (size_t)r->len + RESPONSE_TEXT_ROOM;
    char *bytes = malloc(room);

    if (!bytes)
        return false;
    (void)take_texts(r, bytes, room);
    drop_body(r);
    r->bytes = bytes;
    return true;
}

struct response *response_of_texts(struct response_text *const *texts, size_t n)
{
    struct response *r = make(0);

    if (!r)
        return NULL;
    r->texts = malloc((n + 1) * sizeof(*r->texts));
    for (; r->texts && r->n_texts < n; r->n_texts++) {
        r->texts[r->n_texts] = response_text_share(texts[r->n_texts]);
        r->len += texts[r->n_texts]->len;
    }
    if (r->texts && (r->len > DIRECT_MAX || join(r)))
        return r;
    response_free(r);
    return NULL;
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
    drop_body(r);
    free(r);
}

void response_add_header(struct response *r, const char *name, const char *value)
{
    if (reply_head_is_value(value))
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

/* What is left of the parts behind the first `n` bytes. */
static void add_rest(const struct iovec parts[2], size_t n, struct buf *rest)
{
    for (size_t i = 0; i < 2; i++) {
        size_t skipped = n < parts[i].iov_len ? n : parts[i].iov_len;

        buf_add(rest, (const char *)parts[i].iov_base + skipped, parts[i].iov_len - skipped);
        n -= skipped;
    }
}

bool response_send(const struct response *r, unsigned int status, int fd, struct buf *rest)
{
    const char *fields = r->fields.data + sizeof(struct front_head);
    const struct reply_head head = { .status = status,
                                     .fields = fields,
                                     .fields_len = r->fields.len - sizeof(struct front_head),
                                     .length = r->len };
    bool fits = !r->upgrade && !r->read && r->fd < 0 && r->len <= DIRECT_MAX &&
                !reply_head_closes(head.fields, head.fields_len);
    ssize_t n = -1;
    struct buf text;

    if (!fits)
        return false;
    buf_init(&text, FIELDS_MAX);
    if (reply_head_add(&head, &text) && text.len + r->len <= rest->max) {
        struct iovec parts[] = { { text.data, text.len }, { r->bytes, (size_t)r->len } };
        const struct msghdr message = { .msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts) };

        n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0 && (size_t)n < text.len + r->len)
            add_rest(parts, (size_t)n, rest);
    }
    buf_done(&text);
    return n >= 0;
}

void response_drop_body(struct response *r)
{
    scope_close_fd(&r->fd);
    r->fd = -1;
    drop_body(r);
    r->read = NULL;
    r->len = 0;
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
    else if (r->texts)
        got = (ssize_t)take_texts(r, to, max);
    else
        memcpy(to, r->bytes + r->sent, n);
    if (got <= 0)
        return RESPONSE_BROKEN;
    r->sent += (uint64_t)got;
    return got;
}
