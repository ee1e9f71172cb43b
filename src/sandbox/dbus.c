#include "sandbox/dbus.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

enum { NO_REPLY_EXPECTED = 1 };
enum { FIELD_REPLY_TO = 5, FIELD_UNIX_FDS = 9 };

/* clang-format off */
static const struct {
    uint8_t code;
    char type;
    size_t offset;
} text_fields[] = {
    { 1, 'o', offsetof(struct dbus_message, path)        },
    { 2, 's', offsetof(struct dbus_message, interface)   },
    { 3, 's', offsetof(struct dbus_message, member)      },
    { 4, 's', offsetof(struct dbus_message, error)       },
    { 6, 's', offsetof(struct dbus_message, destination) },
    { 7, 's', offsetof(struct dbus_message, sender)      },
    { 8, 'g', offsetof(struct dbus_message, signature)   },
};
/* clang-format on */

static size_t aligned(size_t pos, size_t to)
{
    return (pos + to - 1) / to * to;
}

void dbus_align(struct buf *b, size_t to)
{
    static const char zeros[8] = { 0 };

    (void)buf_add(b, zeros, aligned(b->len, to) - b->len);
}

void dbus_put_u32(struct buf *b, uint32_t value)
{
    dbus_align(b, sizeof(value));
    (void)buf_add(b, &value, sizeof(value));
}

void dbus_put_string(struct buf *b, const char *text)
{
    dbus_put_u32(b, (uint32_t)strlen(text));
    (void)buf_add(b, text, strlen(text) + 1);
}

void dbus_put_signature(struct buf *b, const char *text)
{
    uint8_t len = (uint8_t)strlen(text);

    (void)buf_add(b, &len, 1);
    (void)buf_add(b, text, (size_t)len + 1);
}

/* The length stands before the padding of the first element and does not count it. */
struct dbus_array dbus_open_array(struct buf *b, size_t to)
{
    struct dbus_array array;

    dbus_put_u32(b, 0);
    array.length_at = b->len - sizeof(uint32_t);
    dbus_align(b, to);
    array.start = b->len;
    return array;
}

void dbus_close_array(struct buf *b, struct dbus_array array)
{
    uint32_t len = (uint32_t)(b->len - array.start);

    if (!b->failed)
        memcpy(b->data + array.length_at, &len, sizeof(len));
}

static void put_field(struct buf *b, uint8_t code, const char *type)
{
    dbus_align(b, 8);
    (void)buf_add(b, &code, 1);
    dbus_put_signature(b, type);
}

void dbus_encode(struct buf *out, const struct dbus_message *message)
{
    const uint8_t head[] = { 'l', (uint8_t)message->type, message->no_reply ? NO_REPLY_EXPECTED : 0,
                             1 /* protocol version */ };
    struct dbus_array fields;

    (void)buf_add(out, head, sizeof(head));
    dbus_put_u32(out, (uint32_t)message->body_len);
    dbus_put_u32(out, message->serial);
    fields = dbus_open_array(out, 8);
    for (size_t i = 0; i < ARRAY_LEN(text_fields); i++) {
        const char type[] = { text_fields[i].type, '\0' };
        const char *text;

        memcpy(&text, (const char *)message + text_fields[i].offset, sizeof(text));
        if (!text)
            continue;
        put_field(out, text_fields[i].code, type);
        if (type[0] == 'g')
            dbus_put_signature(out, text);
        else
            dbus_put_string(out, text);
    }
    if (message->reply_to) {
        put_field(out, FIELD_REPLY_TO, "u");
        dbus_put_u32(out, message->reply_to);
    }
    dbus_close_array(out, fields);
    dbus_align(out, 8);
    (void)buf_add(out, message->body, message->body_len);
}

/* The next `len` bytes, or NULL when fewer are left. */
static const char *get(struct buf_reader *r, size_t len)
{
    const char *at = r->data + r->pos;

    if (r->failed || len > r->len - r->pos) {
        r->failed = true;
        return NULL;
    }
    r->pos += len;
    return at;
}

/* Refuses padding that is not zero, as the specification demands. */
static void get_padding(struct buf_reader *r, size_t to)
{
    size_t n = aligned(r->pos, to) - r->pos;
    const char *padding = get(r, n);

    for (size_t i = 0; padding && i < n; i++)
        if (padding[i])
            r->failed = true;
}

static uint8_t get_u8(struct buf_reader *r)
{
    const char *at = get(r, 1);

    return at ? (uint8_t)*at : 0;
}

uint32_t dbus_get_u32(struct buf_reader *r)
{
    const char *at;
    uint32_t value = 0;

    get_padding(r, sizeof(value));
    at = get(r, sizeof(value));
    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

/* A text of that length and its NUL, with no other NUL in it. */
static const char *get_text(struct buf_reader *r, size_t len)
{
    const char *text = len < DBUS_MAX_MESSAGE ? get(r, len + 1) : NULL;

    if (!text || memchr(text, '\0', len + 1) != text + len) {
        r->failed = true;
        return NULL;
    }
    return text;
}

const char *dbus_get_string(struct buf_reader *r)
{
    uint32_t len = dbus_get_u32(r);

    return r->failed ? NULL : get_text(r, len);
}

/* Known fields must have their specified type; unknown ones are skipped if they are simple. */
static void get_field(struct buf_reader *r, struct dbus_message *message)
{
    uint8_t code = get_u8(r);
    const char *type = get_text(r, get_u8(r)), *text = NULL;
    uint32_t number = 0;

    if (!type || strlen(type) != 1 || !strchr("sogu", type[0])) {
        r->failed = true;
        return;
    }
    if (type[0] == 'u')
        number = dbus_get_u32(r);
    else
        text = type[0] == 'g' ? get_text(r, get_u8(r)) : dbus_get_string(r);
    if (code == FIELD_REPLY_TO)
        message->reply_to = number;
    if (code == 0 || ((code == FIELD_REPLY_TO || code == FIELD_UNIX_FDS) && type[0] != 'u'))
        r->failed = true;
    for (size_t i = 0; i < ARRAY_LEN(text_fields); i++) {
        if (text_fields[i].code != code)
            continue;
        if (text_fields[i].type != type[0])
            r->failed = true;
        memcpy((char *)message + text_fields[i].offset, &text, sizeof(text));
    }
}

/* Bytes before the body: head and fields, padded. */
static size_t length_of_head(uint32_t fields)
{
    return aligned(DBUS_HEAD + (size_t)fields, 8);
}

size_t dbus_length(const void *head)
{
    const unsigned char *byte = head;
    uint32_t body, fields;

    memcpy(&body, byte + 4, sizeof(body));
    memcpy(&fields, byte + 12, sizeof(fields));
    if (byte[0] != 'l' || byte[1] < DBUS_CALL || byte[1] > DBUS_SIGNAL || byte[3] != 1 ||
        body > DBUS_MAX_MESSAGE || fields > DBUS_MAX_MESSAGE ||
        length_of_head(fields) + body > DBUS_MAX_MESSAGE)
        return 0;
    return length_of_head(fields) + body;
}

/* The fields that the specification requires per message type. */
static bool is_complete(const struct dbus_message *m)
{
    switch (m->type) {
    case DBUS_CALL:
        return m->path && m->member;
    case DBUS_REPLY:
        return m->reply_to;
    case DBUS_ERROR:
        return m->reply_to && m->error;
    case DBUS_SIGNAL:
        return m->path && m->interface && m->member;
    }
    return false;
}

int dbus_decode(const void *data, size_t len, struct dbus_message *ret)
{
    struct dbus_message message = { 0 };
    struct buf_reader r = { .data = data, .len = len };
    uint32_t fields;

    if (len < DBUS_HEAD || dbus_length(data) != len)
        return -1;
    message.type = (enum dbus_type)r.data[1];
    message.no_reply = r.data[2] & NO_REPLY_EXPECTED;
    r.pos = 4;
    message.body_len = dbus_get_u32(&r);
    message.serial = dbus_get_u32(&r);
    fields = dbus_get_u32(&r);
    r.len = DBUS_HEAD + (size_t)fields; /* no field reaches into the body */
    while (!r.failed && r.pos < r.len) {
        get_padding(&r, 8);
        get_field(&r, &message);
    }
    r.len = len;
    get_padding(&r, 8);
    message.body = get(&r, message.body_len);
    if (r.failed || !message.serial || !is_complete(&message))
        return -1;
    *ret = message;
    return 0;
}
