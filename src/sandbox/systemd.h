/* A cgroup of our own from systemd, where it manages the cgroups.
 *
 * A scope is a cgroup that systemd makes for running processes; with Delegate it leaves everything
 * below it alone.  It ends, with everything below it, when its last process ends. */
#ifndef SANDBOX_SYSTEMD_H
#define SANDBOX_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

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
