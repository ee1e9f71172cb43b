#include "http/execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/grant.h"

struct amount {
    size_t n, bytes;
};

struct holder {
    char tenant[GRANT_TENANT_SIZE];
    struct amount has;
    struct link *oldest; /* of what is left; looked for only when something went */
};

static void add(struct amount *amount, const struct kept *kept)
{
    amount->n++;
    amount->bytes += kept->bytes;
}

static bool is_too_much(const struct amount *amount)
{
    return amount->n > KEPT_MAX || amount->bytes > KEPT_BYTES;
}

static struct amount count(const struct kept_pool *pool)
{
    struct amount all = { 0 };

    list_each(at, pool->list) {
        struct kept kept = pool->look(at);

        if (kept.tenant)
            add(&all, &kept);
    }
    return all;
}

/* NULL without memory.  Runs of one tenant often follow each other: the last one is tried first. */
static struct holder *find(struct holder **holders, size_t *n, const char *tenant)
{
    struct holder *grown;

    for (size_t i = *n; i-- > 0;)
        if (!strcmp((*holders)[i].tenant, tenant))
            return &(*holders)[i];
    grown = reallocarray(*holders, *n + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    *holders = grown;
    grown += (*n)++;
    *grown = (struct holder){ 0 };
    snprintf(grown->tenant, sizeof(grown->tenant), "%s", tenant);
    return grown;
}

/* Those for whom there is no memory keep what they have until the next time. */
static struct holder *list_holders(const struct kept_pool *pool, size_t *ret_n)
{
    struct holder *holders = NULL;

    *ret_n = 0;
    list_each(at, pool->list) {
        struct kept kept = pool->look(at);
        struct holder *holder = kept.tenant ? find(&holders, ret_n, kept.tenant) : NULL;

        if (!holder)
            continue;
        add(&holder->has, &kept);
        if (!holder->oldest)
            holder->oldest = at;
    }
    return holders;
}

/* By what there is too much of.  NULL: nobody has anything. */
static struct holder *largest(struct holder *holders, size_t n, bool by_bytes)
{
    struct holder *most = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct amount *has = &holders[i].has;

        if (has->n && (!most || (by_bytes ? has->bytes > most->has.bytes : has->n > most->has.n)))
            most = &holders[i];
    }
    return most;
}

static struct link *next_of(const struct kept_pool *pool, const char *tenant, struct link *at)
{
    for (at = at->next; at != pool->list; at = at->next) {
        struct kept kept = pool->look(at);

        if (kept.tenant && !strcmp(kept.tenant, tenant))
            return at;
    }
    return NULL;
}

static size_t forget_oldest(const struct kept_pool *pool, struct holder *holder)
{
    struct link *at = holder->oldest;
    size_t bytes = pool->look(at).bytes;

    holder->oldest = next_of(pool, holder->tenant, at);
    holder->has.n--;
    holder->has.bytes -= bytes;
    pool->forget(at, pool->context);
    return bytes;
}

void kept_share_trim(const struct kept_pool *pool)
{
    struct amount all = count(pool);
    struct holder *holders, *most;
    size_t n;

    if (!is_too_much(&all))
        return;
    holders = list_holders(pool, &n);
    while (is_too_much(&all) && (most = largest(holders, n, all.bytes > KEPT_BYTES))) {
        all.bytes -= forget_oldest(pool, most);
        all.n--;
    }
    free(holders);
}
