#ifndef CONFINE_NETWORK_SOCKETS_H
#define CONFINE_NETWORK_SOCKETS_H

#include "plan/plan.h"
#include "wire/egress.h"

struct network_sockets {
    const struct plan *plan;
    enum egress_way way;
    bool v6;
};

/* Makes the sockets in the caller's network namespace and sends them; 0 or -1 with errno. */
int network_send_sockets(int link_fd, const struct network_sockets *wanted);
/* The same with unconnected ones for sandbox-run-publish. */
int network_send_unconnected(int link_fd);

#endif
