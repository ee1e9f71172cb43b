/* Looks names up outside, as this host does (getaddrinfo), without blocking the
 * loop: a few threads wait. */
#ifndef EGRESS_RESOLVER_H
#define EGRESS_RESOLVER_H

#include "base/err.h"
#include "egress/names.h"

struct resolver;

struct resolution {
    char name[HOSTNAME_SIZE];
    struct address addresses[NAME_MAX_ADDRESSES];
    unsigned int n_addresses;
    bool exists; /* false: no such name; true without addresses: the lookup itself failed */
};

typedef void resolve_done(void *context, const struct resolution *resolution);

/* Starts the threads, which stay until the process ends and take no signals.  They use nothing but
 * sockets and /etc/hosts and /etc/resolv.conf, which may be a link to elsewhere. */
int resolver_start(struct resolver **ret, sbr_error *err) must_check;
/* Readable when answers are ready; resolver_dispatch then calls back. */
int resolver_fd(const struct resolver *resolver);
void resolver_dispatch(struct resolver *resolver);
/* False when too many are waiting.  A name that is being looked up already is not looked up twice:
 * all askers share the answer, and the same `done` and `context` are called once.  Calls back from
 * resolver_dispatch only. */
bool resolver_ask(struct resolver *resolver, const char *name, resolve_done *done, void *context);
/* Drops the questions of this context, which is going away. */
void resolver_forget(struct resolver *resolver, const void *context);

#endif
