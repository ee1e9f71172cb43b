/* A group of our own from systemd, where it manages the groups.
 *
 * A scope is a group that systemd makes for processes that run already; with Delegate it promises
 * to leave everything below alone.  It ends, with all that is below it, when its last process does.
 */
#ifndef SANDBOX_SYSTEMD_H
#define SANDBOX_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SYSTEMD_SOCKET_MAX 108

/* Where a manager listens: itself, or behind the message bus. */
struct systemd_socket {
    char path[SYSTEMD_SOCKET_MAX];
    bool is_bus;
};
#define SYSTEMD_MAX_SOCKETS 4

/* True when systemd runs this machine (or this container). */
bool systemd_manages(void);

/* The manager of the calling user: root's is the system's.  Sockets that are there and belong to
 * the user, best first; asks nobody.  Returns their number. */
unsigned int systemd_sockets(struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS]);

struct systemd_scope {
    const char *unit; /* "NAME.scope" */
    uint64_t timeout_us;
    /* True once the calling process is in the scope. */
    bool (*arrived)(const char *unit);
};

/* Asks the manager behind the socket for a delegated scope with this process in it, and waits until
 * it is there. */
int systemd_start_scope(const struct systemd_socket *to, const struct systemd_scope *scope,
                        sbr_error *err) must_check;

/* True when the manager says that it leaves what is below this service or scope to us. */
bool systemd_is_delegated(const struct systemd_socket *to, const char *unit, uint64_t timeout_us);

#endif
