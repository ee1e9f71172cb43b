#include "admit/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US 60000000.0

/* One tenant: the operator makes them, by tokens, so there is no end of their number to fear. */
struct account {
    struct link link;
    char name[GRANT_TENANT_SIZE];
    struct need used;
    struct ledger_totals totals;
    double left; /* of the rate: starts that it still has */
    uint64_t at_us;
    bool has_rate;
};

struct held {
    struct link link;
    struct ledger *ledger;
    struct account *account;
    struct need need;
    char token_id[GRANT_TOKEN_SIZE];
    bool stopped;
    void (*stop)(void *context);
    void *context;
};

void ledger_open(struct ledger *ledger, const struct ledger_bounds *bounds)
{
    *ledger = (struct ledger){ .bounds = *bounds };
    pthread_mutex_init(&ledger->lock, NULL);
    pthread_mutex_init(&ledger->workspaces, NULL);
    link_init(&ledger->accounts);
    link_init(&ledger->held);
}

void ledger_close(struct ledger *ledger)
{
    list_each(at, &ledger->accounts) {
        struct account *account = link_owner(at, struct account, link);

        link_remove(&account->link);
        free(account);
    }
    pthread_mutex_destroy(&ledger->lock);
    pthread_mutex_destroy(&ledger->workspaces);
}

static struct account *find_account(const struct ledger *ledger, const char *tenant)
{
    list_each(at, (struct link *)&ledger->accounts) {
        struct account *account = link_owner(at, struct account, link);

        if (!strcmp(account->name, tenant))
            return account;
    }
    return NULL;
}

static struct account *account_of(struct ledger *ledger, const char *tenant)
{
    struct account *account = find_account(ledger, tenant);

    if (account)
        return account;
    account = calloc(1, sizeof(*account));
    if (!account)
        return NULL;
    snprintf(account->name, sizeof(account->name), "%s", tenant);
    account->at_us = ledger->bounds.now_us();
    link_init(&account->link);
    list_append(&ledger->accounts, &account->link);
    return account;
}

/* A bucket that fills by the minute's share each second. */
static int check_rate(const struct ledger *ledger, const struct grant *grant,
                      struct account *account, unsigned int starts, struct refusal *ret)
{
    uint64_t now_us = ledger->bounds.now_us();
    double most = grant->per_minute;

    if (!grant->per_minute || !starts)
        return 0;
    if (!account->has_rate)
        account->left = most;
    account->has_rate = true;
    account->left += (double)(now_us - account->at_us) * most / MINUTE_US;
    account->left = account->left > most ? most : account->left;
    account->at_us = now_us;
    if (account->left >= starts)
        return 0;
    ret->retry_s =
        starts > grant->per_minute ? 60 : (unsigned int)((starts - account->left) * 60 / most) + 1;
    return refusal_set(ret, REFUSED_FULL, BOUND_RATE, "",
                       starts > grant->per_minute
                           ? "this starts %u programs, and the token allows %u a minute"
                           : "the token allows no more requests this minute",
                       starts, grant->per_minute);
}

static int full(struct refusal *ret, enum bound bound, unsigned int position, const char *why)
{
    ret->retry_s = 1;
    ret->position = position;
    return refusal_set(ret, REFUSED_FULL, bound, "", "%s", why);
}

static bool is_shared(const struct ledger *ledger, const struct grant *grant)
{
    return ledger->tenants > 1 && !grant->local;
}

/* Of what all have; at least 1 of what is counted. */
static uint64_t share_of(const struct ledger *ledger, uint64_t all)
{
    uint64_t share = all / 100 * ledger->bounds.share + all % 100 * ledger->bounds.share / 100;

    return share ? share : 1;
}

static int check_runs(const struct ledger *ledger, const struct grant *grant,
                      const struct account *account, const struct need *need, struct refusal *ret)
{
    unsigned int own = account->used.runs + need->runs, all = ledger->used.runs + need->runs;

    if (!need->runs)
        return 0;
    if (grant->concurrency && own > grant->concurrency)
        return full(ret, BOUND_RUNS, account->used.runs + 1,
                    "as many runs of this tenant as its token allows have not ended");
    if (all > ledger->bounds.runs)
        return full(ret, BOUND_RUNS, ledger->used.runs + 1,
                    "the gateway has as many runs as it takes");
    if (is_shared(ledger, grant) && own > share_of(ledger, ledger->bounds.runs))
        return full(ret, BOUND_RUNS, account->used.runs + 1,
                    "this tenant has its share of the runs that the gateway takes");
    return 0;
}

static int check_sessions(const struct grant *grant, const struct account *account,
                          const struct need *need, struct refusal *ret)
{
    if (!need->sessions || !grant->sessions ||
        account->used.sessions + need->sessions <= grant->sessions)
        return 0;
    ret->retry_s = 1;
    return refusal_set(ret, REFUSED_FULL, BOUND_SESSIONS, "",
                       "the token allows %u sessions at once; end one first", grant->sessions);
}

static int check_agents(const struct ledger *ledger, const struct grant *grant,
                        const struct account *account, const struct need *need, struct refusal *ret)
{
    unsigned int most = ledger->bounds.agents;

    if (!need->agents)
        return 0;
    if (ledger->used.agents + need->agents > most)
        return full(ret, BOUND_RUNS, 0, "the gateway serves as many agents as it takes");
    if (is_shared(ledger, grant) && account->used.agents + need->agents > share_of(ledger, most))
        return full(ret, BOUND_RUNS, 0, "this tenant has its share of the agents");
    return 0;
}

/* An engine lets runs wait for memory; sessions have no queue. */
static bool may_wait(const struct ledger *ledger, const struct need *need)
{
    return !need->sessions && ledger->bounds.queues && ledger->bounds.queues();
}

/* A run that alone needs more than there is has the machine to itself. */
static int check_memory(const struct ledger *ledger, const struct grant *grant,
                        const struct account *account, const struct need *need, struct refusal *ret)
{
    uint64_t most = ledger->bounds.memory, share = share_of(ledger, most);
    uint64_t own = account->used.memory, all = ledger->used.memory;

    if (!need->memory)
        return 0;
    if (is_shared(ledger, grant) && need->memory > share) {
        char text[32];

        limits_format(SBR_MEMORY_BYTES, share, text, sizeof(text));
        return refusal_set(ret, REFUSED_FORBIDDEN, BOUND_MEMORY, "limits",
                           "this needs more memory than the share of one tenant, %s; lower the "
                           "memory limit",
                           text);
    }
    if (is_shared(ledger, grant) && own + need->memory > share && !may_wait(ledger, need))
        return full(ret, BOUND_MEMORY, 0,
                    "this tenant's runs and sessions have its share of the memory; ask again, end "
                    "a session, or lower the memory limit");
    if (all && (all > most || need->memory > most - all) && !may_wait(ledger, need))
        return full(
            ret, BOUND_MEMORY, 0,
            "the memory of this machine is reserved for other runs and sessions; ask again, "
            "lower the memory limit, or let the operator start an engine");
    return 0;
}

/* What runs have written already is counted twice: as used, and as theirs to use. */
static int check_disk(const struct ledger *ledger, const struct need *need, struct refusal *ret)
{
    if (!need->disk || !ledger->bounds.disk_left ||
        ledger->bounds.disk_left() >= need->disk + ledger->used.disk)
        return 0;
    return full(
        ret, BOUND_DISK, 0,
        "the disk has no room for what this may leave, beside the runs that have not ended; "
        "ask again, remove workspaces, or lower the disk limit");
}

static void add(struct need *sum, const struct need *need)
{
    sum->runs += need->runs;
    sum->sessions += need->sessions;
    sum->agents += need->agents;
    sum->memory += need->memory;
    sum->disk += need->disk;
}

static void subtract(struct need *sum, const struct need *need)
{
    sum->runs -= need->runs;
    sum->sessions -= need->sessions;
    sum->agents -= need->agents;
    sum->memory -= need->memory;
    sum->disk -= need->disk;
}

/* The rate last: what is refused for another reason starts nothing. */
static int check_all(const struct ledger *ledger, const struct grant *grant,
                     struct account *account, const struct need *need, struct refusal *ret)
{
    return check_runs(ledger, grant, account, need, ret) < 0 ||
                   check_sessions(grant, account, need, ret) < 0 ||
                   check_agents(ledger, grant, account, need, ret) < 0 ||
                   check_memory(ledger, grant, account, need, ret) < 0 ||
                   check_disk(ledger, need, ret) < 0 ||
                   check_rate(ledger, grant, account, need->starts, ret) < 0
               ? -1
               : 0;
}

static int take(struct ledger *ledger, const struct grant *grant, const struct need *need,
                struct held *held, struct refusal *ret)
{
    struct account *account = account_of(ledger, grant->name);

    if (!account)
        return err_set_oom(&ret->err, "request");
    if (check_all(ledger, grant, account, need, ret) < 0) {
        account->totals.refused++;
        return -1;
    }
    if (grant->per_minute) /* another token of the tenant may have no rate, and takes none of it */
        account->left -= need->starts;
    account->totals.starts += need->starts;
    if (!held)
        return 0;
    held->account = account;
    add(&account->used, need);
    add(&ledger->used, need);
    list_append(&ledger->held, &held->link);
    return 0;
}

int ledger_take(struct ledger *ledger, const struct grant *grant, const struct need *need,
                void (*stop)(void *context), void *context, struct held **ret,
                struct refusal *refusal)
{
    struct held *held = calloc(1, sizeof(*held));
    int r;

    if (!held)
        return err_set_oom(&refusal->err, "request");
    *held = (struct held){ .ledger = ledger, .need = *need, .stop = stop, .context = context };
    link_init(&held->link);
    snprintf(held->token_id, sizeof(held->token_id), "%s", grant->token_id);
    pthread_mutex_lock(&ledger->lock);
    r = take(ledger, grant, need, held, refusal);
    pthread_mutex_unlock(&ledger->lock);
    if (r < 0)
        free(held);
    else
        *ret = held;
    return r < 0 ? -1 : 0;
}

int ledger_count_starts(struct ledger *ledger, const struct grant *grant, unsigned int starts,
                        struct refusal *refusal)
{
    const struct need need = { .starts = starts };
    int r;

    pthread_mutex_lock(&ledger->lock);
    r = take(ledger, grant, &need, NULL, refusal);
    pthread_mutex_unlock(&ledger->lock);
    return r < 0 ? -1 : 0;
}

void ledger_give_back(struct held *held)
{
    struct ledger *ledger = held ? held->ledger : NULL;

    if (!held)
        return;
    pthread_mutex_lock(&ledger->lock);
    subtract(&held->account->used, &held->need);
    subtract(&ledger->used, &held->need);
    link_remove(&held->link);
    pthread_mutex_unlock(&ledger->lock);
    free(held);
}

void ledger_set_memory(struct held *held, uint64_t memory)
{
    struct ledger *ledger = held->ledger;

    pthread_mutex_lock(&ledger->lock);
    held->account->used.memory += memory - held->need.memory;
    ledger->used.memory += memory - held->need.memory;
    held->need.memory = memory;
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_set_stop(struct held *held, void (*stop)(void *context), void *context)
{
    pthread_mutex_lock(&held->ledger->lock);
    held->stop = stop;
    held->context = context;
    pthread_mutex_unlock(&held->ledger->lock);
}

struct need ledger_used(struct ledger *ledger, const char *tenant)
{
    const struct account *account;
    struct need used = { 0 };

    pthread_mutex_lock(&ledger->lock);
    account = tenant ? find_account(ledger, tenant) : NULL;
    if (!tenant)
        used = ledger->used;
    else if (account)
        used = account->used;
    pthread_mutex_unlock(&ledger->lock);
    return used;
}

struct ledger_totals ledger_totals(struct ledger *ledger, const char *tenant)
{
    const struct account *account;
    struct ledger_totals totals = { 0 };

    pthread_mutex_lock(&ledger->lock);
    account = find_account(ledger, tenant);
    if (account)
        totals = account->totals;
    pthread_mutex_unlock(&ledger->lock);
    return totals;
}

/* One that is to be stopped, and was not yet; its stop is called without the lock, because that may
 * give it back. */
static struct held *next_to_stop(struct ledger *ledger, ledger_is_revoked *is_revoked, void *tokens)
{
    list_each(at, &ledger->held) {
        struct held *held = link_owner(at, struct held, link);

        if (!held->stopped && held->stop && held->token_id[0] && is_revoked(tokens, held->token_id))
            return held;
    }
    return NULL;
}

void ledger_end_tokens(struct ledger *ledger, ledger_is_revoked *is_revoked, void *tokens)
{
    for (;;) {
        void (*stop)(void *context) = NULL;
        void *context = NULL;
        struct held *held;

        pthread_mutex_lock(&ledger->lock);
        held = next_to_stop(ledger, is_revoked, tokens);
        if (held) {
            held->stopped = true;
            stop = held->stop;
            context = held->context;
        }
        pthread_mutex_unlock(&ledger->lock);
        if (!held)
            return;
        stop(context);
    }
}

void ledger_set_tenants(struct ledger *ledger, unsigned int tenants)
{
    pthread_mutex_lock(&ledger->lock);
    ledger->tenants = tenants;
    pthread_mutex_unlock(&ledger->lock);
}

static uint64_t memory_share(struct ledger *ledger, const struct grant *grant)
{
    uint64_t share;

    pthread_mutex_lock(&ledger->lock);
    share = is_shared(ledger, grant) ? share_of(ledger, ledger->bounds.memory) : LIMIT_NONE;
    pthread_mutex_unlock(&ledger->lock);
    return share;
}

void ledger_fit(struct ledger *ledger, const struct grant *grant, sbr_request *req)
{
    uint64_t share = memory_share(ledger, grant);

    if (share == LIMIT_NONE)
        return;
    req->share = (uint8_t)ledger->bounds.share; /* the engine holds the caller to it, too */
    if (need_memory_of(req) <= share)
        return;
    if (!(req->limits.given >> SBR_MEMORY_BYTES & 1) && req->limits.value[SBR_MEMORY_BYTES] > share)
        req->limits.value[SBR_MEMORY_BYTES] = share;
    req->ceilings.value[SBR_MEMORY_BYTES] = share;
    req->ceilings.given |= 1u << SBR_MEMORY_BYTES;
}

void ledger_lower_ceilings(struct ledger *ledger, struct grant *grant)
{
    uint64_t share = memory_share(ledger, grant);

    if (grant_most(grant, SBR_MEMORY_BYTES) <= share)
        return;
    grant->ceilings.value[SBR_MEMORY_BYTES] = share;
    grant->ceilings.given |= 1u << SBR_MEMORY_BYTES;
}
