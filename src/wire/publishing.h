/* What the supervisor, init and sandbox-run-publish send to each other.
 *
 *   supervisor --config (sealed memory), page (shared memory), alive (socket)--> publish
 *   supervisor --listeners: sockets that listen on the host's loopback---------> publish
 *   init ------link: unconnected sockets of the sandbox's network namespace----> publish
 *
 * The supervisor shuts `alive` down when the program has ended: publish closes the listeners,
 * passes on what the program has sent already, and exits.  It also exits when the supervisor is
 * gone. */
#ifndef WIRE_PUBLISHING_H
#define WIRE_PUBLISHING_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "model/publish.h"

#define PUBLISH_NAME "sandbox-run-publish"

/* One for each address of each rule. */
#define PUBLISH_LISTENERS (2 * PUBLISH_MAX)

/* File descriptors that publish finds open; it has no others.  The listeners follow. */
enum publish_fd { PUBLISH_LINK, PUBLISH_ALIVE, PUBLISH_CONFIG, PUBLISH_PAGE, PUBLISH_LISTENER };
#define PUBLISH_MAX_FDS (PUBLISH_LISTENER + PUBLISH_LISTENERS)

/* Sockets of the sandbox's namespace: each serves one connection after the other, so that they are
 * also the most connections at a time.  A server that listens on ::1 alone takes one of the second
 * kind. */
#define PUBLISH_SOCKETS4 192
#define PUBLISH_SOCKETS6 64
#define PUBLISH_SOCKETS (PUBLISH_SOCKETS4 + PUBLISH_SOCKETS6)
/* Their numbers in publish: the only ones that its filter lets it connect, and the only ones that
 * it does not let it close (policies/publish.yaml). */
#define PUBLISH_FIRST_SOCKET 256
_Static_assert(PUBLISH_SOCKETS == 256 && PUBLISH_FIRST_SOCKET == 256, "as the filter compares");

/* One message over the link, with `n` file descriptors.  `last`: no more messages follow. */
#define PUBLISH_MESSAGE_FDS 32
struct publish_message {
    uint32_t n;
    uint32_t v6; /* they are of IPv6 */
    uint32_t last;
};

/* Written by publish alone; the supervisor reads it. */
struct publish_page {
    struct {
        _Atomic uint64_t connections;
        _Atomic uint64_t bytes_in; /* to the program */
        _Atomic uint64_t bytes_out;
    } rules[PUBLISH_MAX];
    _Atomic uint64_t cpu_us;
    sbr_error error; /* why it could not work; code 0: it could */
};

#endif
