/* What the supervisor, sandbox-run-egress and sandbox-run-secrets send to each other.
 *
 *   supervisor --config (sealed memory), then the secrets over `alive`--> secrets
 *   secrets ----what the sandbox is to trust, over `alive`--------------> supervisor
 *   egress -----connections, over `link`--------------------------------> secrets
 *   secrets ----refusals and CPU time, over `link`----------------------> egress
 *
 * A message over `alive` is as long as it says: its first datagram is the length.  The helper ends
 * when `link` or `alive` does. */
#ifndef WIRE_SECRETS_H
#define WIRE_SECRETS_H

#include <stdint.h>

#include "model/address.h"
#include "model/denial.h"

#define SECRETS_NAME "sandbox-run-secrets"
#define SECRETS_MESSAGE_MAX (4 << 20)

/* File descriptors that the helper finds open; it has no others. */
enum secrets_fd { SECRETS_LINK, SECRETS_ALIVE, SECRETS_CONFIG, N_SECRETS_FDS };

enum secrets_way {
    SECRETS_END,   /* a host with secrets: TLS ends here, and values are put in        */
    SECRETS_WATCH, /* plain HTTP to another host: only placeholders are looked for     */
    SECRETS_PASS,  /* another host, by way of a proxy that only the helper can talk to */
    N_SECRETS_WAYS
};

/* Comes with two file descriptors: the program's end, and one whose bytes egress carries out. */
struct secrets_connection {
    char name[HOSTNAME_SIZE]; /* what egress decided by: a name, or an address as text */
    uint16_t port;
    uint32_t way;
    uint32_t by_proxy; /* what answers first is the proxy */
};

struct secrets_news {
    uint64_t cpu_us; /* in all, until now */
    uint32_t has_denial;
    struct denial denial;
};

#endif
