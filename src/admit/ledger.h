/* What callers hold at once: runs, sessions, agents, memory, disk, and how often they start
 * something.  One ledger for a gateway; any thread.
 *
 *   (1) ledger_take looks and takes under one lock: however many ask at once, no bound is passed.
 *   (2) Whatever was taken is given back once, by ledger_give_back.
 *   (3) While several tenants have a token, one tenant holds no more than its share of what all
 *       have, whether others ask now or not: a run that has begun cannot be taken back when they
 *       come.
 *
 * No file and no clock is asked but by `now_us` and `is_revoked`, so that tests decide both. */
#ifndef ADMIT_LEDGER_H
#define ADMIT_LEDGER_H

#include <pthread.h>

#include "admit/grant.h"
#include "admit/need.h"
#include "admit/refusal.h"
#include "base/list.h"

struct ledger_bounds {
    unsigned int runs, agents; /* of all callers */
    uint64_t memory;           /* the same */
    unsigned int share;        /* percent of each that one tenant may hold beside others */
    bool (*queues)(void); /* true: an engine reserves the memory of runs; NULL: there is none */
    uint64_t (*disk_left)(void);
    uint64_t (*now_us)(void);
};

struct ledger {
    pthread_mutex_t lock;
    pthread_mutex_t workspaces; /* held from the look at them until one more is made */
    struct ledger_bounds bounds;
    unsigned int tenants; /* that have a token */
    struct need used;     /* by all */
    struct link accounts, held;
};

/* What one caller holds. */
struct held;

void ledger_open(struct ledger *ledger, const struct ledger_bounds *bounds);
void ledger_close(struct ledger *ledger);
/* 0 or -1.  `stop` is called, in the thread of ledger_end_token, when the token is taken back; it
 * may be NULL, and must not wait. */
int ledger_take(struct ledger *ledger, const struct grant *grant, const struct need *need,
                void (*stop)(void *context), void *context, struct held **ret,
                struct refusal *refusal) must_check;
/* Beside other tenants a request may not need more memory than the share: limits that nobody asked
 * for are lowered to it. */
void ledger_fit(struct ledger *ledger, const struct grant *grant, sbr_request *req);
/* The same for requests that are made later. */
void ledger_lower_ceilings(struct ledger *ledger, struct grant *grant);
/* Only counts starts.  0 or -1. */
int ledger_count_starts(struct ledger *ledger, const struct grant *grant, unsigned int starts,
                        struct refusal *refusal) must_check;
/* NULL is ignored. */
void ledger_give_back(struct held *held);
/* From now on it holds this memory: what is known by now, which no bound can refuse. */
void ledger_set_memory(struct held *held, uint64_t memory);
/* From now on another is to be called; also NULL. */
void ledger_set_stop(struct held *held, void (*stop)(void *context), void *context);
/* What the tenant holds, or all (NULL). */
struct need ledger_used(struct ledger *ledger, const char *tenant);
/* How many runs and refusals of the tenant there have been. */
struct ledger_totals {
    uint64_t starts, refused;
};
struct ledger_totals ledger_totals(struct ledger *ledger, const char *tenant);
/* True: the token of this id was revoked. */
typedef bool ledger_is_revoked(void *tokens, const char *token_id);
/* Stops what tokens hold that are no more. */
void ledger_end_tokens(struct ledger *ledger, ledger_is_revoked *is_revoked, void *tokens);
void ledger_set_tenants(struct ledger *ledger, unsigned int tenants);

#endif
