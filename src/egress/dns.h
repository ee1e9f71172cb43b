/* The only resolver that the program has.  Reads its queries, which are hostile bytes, and answers:
 *   a name that may be looked up   addresses inside that stand for it, once it was found outside
 *   with --allow-dns or full       other types of records: the host's resolver gets the question
 *   anything else                  REFUSED, at once, and a denial
 * Everything happens in the caller's thread. */
#ifndef EGRESS_DNS_H
#define EGRESS_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "egress/decide.h"
#include "egress/names.h"
#include "egress/resolver.h"
#include "model/network.h"

#define DNS_MAX_MESSAGE 4096

/* The destination of an answer; it is copied.  Askers are compared as bytes: unused ones are 0. */
struct dns_asker {
    uint8_t bytes[64];
};
typedef void dns_answer(void *context, const struct dns_asker *asker, const uint8_t *message,
                        size_t len);

struct dns {
    const struct network *network;
    struct names *names;
    struct resolver *resolver;
    dns_answer *answer;
    void *context;
    /* Called for each refusal, and for each lookup outside. */
    void (*refused)(void *context, const char *name, const struct decision *why);
    void (*looked_up)(void *context);
    /* True for names that are not looked up here, because a proxy does; NULL: for none. */
    bool (*elsewhere)(void *context, const char *name);
    void (*close)(void *context); /* the network is given back: see NETWORK_CLOSE_NAME */
    /* From here on private, allocated on first use. */
    struct dns_pending *pending;   /* queries that wait for names; bounded               */
    struct dns_forwards *forwards; /* queries that wait for the host's resolver; bounded */
    int upstream_fd;               /* readable when that one answers; -1: not opened yet */
    void (*probe_failed)(struct dns *dns, const char *name);
    uint64_t due_us; /* dns_tick() is wanted then; UINT64_MAX: only for timeouts */
};

/* The caller fills in the first part, before or after. */
void dns_init(struct dns *dns);
void dns_done(struct dns *dns);
/* Handles one query.  The answer may come at once or later; a message that
 * is no query gets none. */
void dns_query(struct dns *dns, const struct dns_asker *asker, const uint8_t *message, size_t len);
/* To be called when upstream_fd (if it is not -1) is readable, and about every
 * second for timeouts. */
void dns_upstream(struct dns *dns);
void dns_tick(struct dns *dns, uint64_t now_us);

#endif
