/* What the gateway's callers hold: its ledger, and the sessions in it.
 *
 * Sessions outlive the gateway and end by themselves, so that their places in the ledger are
 * compared with what there is every second.  The loop calls all of this, unless it is said
 * otherwise. */
#ifndef HTTP_HOLDINGS_H
#define HTTP_HOLDINGS_H

#include <jansson.h>

#include "admit/ledger.h"
#include "base/list.h"
#include "http/exchange.h"

struct server;

struct holdings {
    struct ledger ledger; /* any thread */
    struct link sessions; /* of tenants */
    struct held *local;   /* the memory of all other sessions of this user */
    int64_t tokens_s;     /* when the tokens last changed; 0: unknown */
    pthread_mutex_t lock; /* of `sessions` */
};

int holdings_open(struct server *server, sbr_error *err) must_check;
void holdings_close(struct server *server);
void holdings_tick(struct server *server);

/* In any thread: the session that was begun with `held` lives under this id of the library's; what
 * it holds is given back when it has ended. */
void holdings_keep_session(struct server *server, const struct grant *grant, const char *own,
                           struct held *held);
/* In any thread: it has ended. */
void holdings_end_session(struct server *server, const char *own);

/* Takes for an exchange; NULL: it has its reply. */
struct held *holdings_take(struct exchange *x, const struct need *need);
/* The reply to a refusal of any kind. */
void holdings_refuse(struct exchange *x, const struct refusal *refusal);
/* The status that stands for it. */
unsigned int holdings_status_of(const struct refusal *refusal);

#endif
