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

/* A cgroup of our own from systemd, where it manages the cgroups.
 *
 * A scope is a cgroup that systemd makes for running processes; with Delegate it leaves everything
 * below it alone.  It ends, with everything below it, when its last process ends. */
#define SYSTEMD_SOCKET_MAX 108

/* A socket of a manager: its own, or that of the message bus. */
struct systemd_socket {
    char path[SYSTEMD_SOCKET_MAX];
    bool is_bus;
};
#define SYSTEMD_MAX_SOCKETS 4

/* True when systemd runs this machine (or this container). */
bool systemd_manages(void);

/* Finds sockets of the calling user's manager (for root: the system's).  They exist and belong to
 * the user, best first.  Contacts no process.  Returns their number. */
unsigned int systemd_sockets(struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS]);

struct systemd_scope {
    const char *unit; /* "NAME.scope" */
    uint64_t timeout_us;
    /* True once the calling process is in the scope. */
    bool (*arrived)(const char *unit);
};

/* Asks the manager for a delegated scope with this process in it, and waits for it. */
int systemd_start_scope(const struct systemd_socket *to, const struct systemd_scope *scope,
                        sbr_error *err) must_check;

/* True when the manager reports this service or scope as delegated. */
bool systemd_is_delegated(const struct systemd_socket *to, const char *unit, uint64_t timeout_us);

#endif
