/* D-Bus messages: what it takes to ask systemd for a scope.  Bytes only, no socket.
 *
 * Little-endian only, because both ends are on one machine and we support no other.  The decoder
 * refuses the other byte order and every breach of the specification: the peer is not trusted. */
#ifndef SANDBOX_DBUS_H
#define SANDBOX_DBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define DBUS_HEAD 16 /* bytes that give the length of the whole message */
#define DBUS_MAX_MESSAGE (256 * 1024)

enum dbus_type { DBUS_CALL = 1, DBUS_REPLY, DBUS_ERROR, DBUS_SIGNAL };

/* Absent texts are NULL; in a decoded message all texts point into its bytes. */
struct dbus_message {
    enum dbus_type type;
    bool no_reply; /* the caller wants no reply */
    uint32_t serial;
    uint32_t reply_to; /* serial of the call; 0: none */
    const char *path, *interface, *member, *error, *destination, *sender, *signature;
    const char *body;
    size_t body_len;
};

/* Appends the message to an empty buffer; `failed` of the buffer is set when it did not fit. */
void dbus_encode(struct buf *out, const struct dbus_message *message);

/* Length of the message that starts with these DBUS_HEAD bytes; 0 when they are invalid. */
size_t dbus_length(const void *head);
/* 0, or -1 when the bytes are not exactly one valid message. */
int dbus_decode(const void *data, size_t len, struct dbus_message *ret) must_check;

/* Values of a body; alignment is relative to the start of the buffer, as specified. */
void dbus_align(struct buf *b, size_t to);
void dbus_put_u32(struct buf *b, uint32_t value);
void dbus_put_string(struct buf *b, const char *text);
void dbus_put_signature(struct buf *b, const char *text);
/* An array whose elements are aligned to `to`: open, put the elements, close. */
struct dbus_array {
    size_t length_at, start;
};
struct dbus_array dbus_open_array(struct buf *b, size_t to);
void dbus_close_array(struct buf *b, struct dbus_array array);

/* Return 0 or NULL when `failed` is set in the reader. */
uint32_t dbus_get_u32(struct buf_reader *r);
const char *dbus_get_string(struct buf_reader *r); /* also reads an object path */

#endif
