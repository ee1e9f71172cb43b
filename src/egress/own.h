/* Does an address lead to this host, or to a network that the host is connected to without a
 * router?  The kernel's routes are asked each time: they know secondary addresses, broadcast
 * addresses and whole ranges that are routed to lo, and they change during a run. */
#ifndef EGRESS_OWN_H
#define EGRESS_OWN_H

#include "base/err.h"
#include "egress/decide.h"
#include "model/address.h"

/* Opens a socket for the questions. */
int own_open(int *ret_fd, sbr_error *err) must_check;
/* Takes the address for this host's own when the kernel gives no answer. */
struct whereabouts own_find(int fd, const struct address *address);

#endif
