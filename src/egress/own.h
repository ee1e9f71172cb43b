/* Does an address lead to this very host, or to a network that the host is connected to without a router between?  Asked
 * of the kernel's routes, each time: they know secondary addresses, broadcast addresses and whole ranges that are routed to
 * lo, and they change while a run goes on. */
#ifndef EGRESS_OWN_H
#define EGRESS_OWN_H

#include "base/err.h"
#include "egress/decide.h"
#include "model/address.h"

/* A socket to ask with. */
int own_open(int *ret_fd, sbr_error *err) must_check;
/* This host's own also when the kernel gives no answer. */
struct whereabouts own_find(int fd, const struct address *address);

#endif
