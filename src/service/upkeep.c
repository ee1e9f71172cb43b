/* What is done when no event is left: positions are told, groups cleaned, pools filled and trimmed, nurseries replaced. */
#include "base/clock.h"
#include "base/log.h"
#include "service/parts.h"

#define LOOK_EVERY_US 250000ULL
#define LOOK_SELDOM_US 5000000ULL /* when nobody has wanted anything for a while */
#define POSITIONS_EVERY_US 100000ULL
#define TRIM_AT_ONCE 2

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many of each kind are to be ready. */
static void set_targets(struct engine *engine, uint64_t now_us)
{
    struct pool_claim claims[MAX_KINDS];
    size_t n = 0;

    list_each(at, &engine->kinds)
    {
        const struct kind *kind = link_owner(at, struct kind, link);

        claims[n++] = (struct pool_claim){
            .wanted = engine->draining ? 0 : pool_wanted(&kind->demand, &engine->limits, now_us),
            .bytes = kind->demand.bytes,
        };
    }
    pool_share(claims, n, &engine->limits);
    n = 0;
    list_each(at, &engine->kinds) link_owner(at, struct kind, link)->target = claims[n++].target;
}

/* Off the way of those that run: as long as there is enough, only when nobody does. */
static void refill(struct kind *kind)
{
    struct engine *engine = kind->engine;

    while (kind->house && kind->house->stock < kind->target + kind->n_waiting &&
           engine->n_making < engine->processors) {
        if (engine->queue.n_running && !pool_is_low(kind->house->stock, kind->target))
            return;
        if (cell_order(kind) != 0)
            return;
    }
}

/* The oldest go first; those of a house that retired are among them. */
static void trim(struct kind *kind)
{
    for (int i = 0; i < TRIM_AT_ONCE && kind->n_parked > kind->target; i++)
        cell_end(link_owner(kind->parked.prev, struct cell, parked));
}

static void look_after_houses(struct kind *kind, uint64_t now_us)
{
    struct house *house = kind->house;

    if (!house && !kind->successor && kind->target && now_us >= kind->not_before_us)
        house_open(kind);
    else if (house && house->nursery.ready && !kind->target && !kind->n_users)
        house_dismiss(house);
    else if (house && house->nursery.ready && !kind->successor &&
             pool_is_worn(house->made, now_us - house->started_us))
        house_open(kind);
}

static void look_at_kinds(struct engine *engine, uint64_t now_us, bool all)
{
    set_targets(engine, now_us);
    list_each(at, &engine->kinds)
    {
        struct kind *kind = link_owner(at, struct kind, link);

        leases_make(kind);
        if (all) {
            look_after_houses(kind, now_us);
            trim(kind);
        }
        refill(kind);
    }
}

/* Nothing changes by itself soon, unless something arrived lately or has to be tried again. */
static uint64_t look_again(const struct engine *engine, uint64_t now_us)
{
    bool lively = engine->draining || engine->warm_next || engine->n_making;

    list_each(at, &engine->kinds)
    {
        const struct kind *kind = link_owner(at, struct kind, link);

        lively |=
            now_us - kind->demand.last_us < 2 * POOL_WINDOW_US || kind->n_parked != kind->target;
    }
    return now_us + (lively ? LOOK_EVERY_US : LOOK_SELDOM_US);
}

uint64_t upkeep(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us = nests_clean(engine, now_us);
    bool all = now_us >= engine->upkeep_us;

    if (engine->changed) /* what was settled may be no longer */
        engine->upkeep_us = earlier(engine->upkeep_us, now_us + LOOK_EVERY_US);
    if (engine->changed || all) {
        engine->changed = false;
        look_at_kinds(engine, now_us, all);
        if (all)
            engine->upkeep_us = look_again(engine, now_us);
    }
    if (engine->queue.n_waiting && now_us >= engine->positions_us) {
        leases_tell_positions(engine);
        engine->positions_us = now_us + POSITIONS_EVERY_US;
    }
    if (engine->queue.n_waiting)
        next_us = earlier(next_us, engine->positions_us);
    if (engine->n_kinds)
        next_us = earlier(next_us, engine->upkeep_us);
    if (engine->draining)
        next_us = earlier(next_us, engine->drain_end_us);
    return next_us;
}
