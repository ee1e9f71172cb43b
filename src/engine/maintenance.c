/* What is done when no event is left: positions are told, groups cleaned, pools filled and trimmed, nurseries replaced.
 * In small steps, with a look at what was asked for after each. */
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define LOOK_EVERY_US 250000ULL
#define LOOK_SELDOM_US 5000000ULL /* when nobody has wanted anything for a while */
#define POSITIONS_EVERY_US 100000ULL
#define TARGETS_EVERY_US 10000ULL
#define TRIM_AT_ONCE 2
#define MAKING_PER_PROCESSOR 4 /* most of them are slow ones that wait for each other */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many of each kind are to be ready. */
static void set_targets(struct engine *engine, uint64_t now_us)
{
    struct pool_claim claims[MAX_KINDS];
    size_t n = 0;

    list_each(at, &engine->kinds) {
        const struct kind *kind = link_owner(at, struct kind, link);

        claims[n++] = (struct pool_claim){
            .wanted = engine->draining ? 0 : pool_wanted(&kind->demand, &engine->limits, now_us),
            .bytes = kind->demand.bytes,
        };
    }
    pool_share(claims, n, &engine->limits);
    n = 0;
    list_each(at, &engine->kinds)
        link_owner(at, struct kind, link)->target = claims[n++].target;
}

/* Whether one more of the kind is to be made now: as long as there is enough, only when nobody runs. */
static bool needs_one(const struct kind *kind, bool urgently)
{
    const struct engine *engine = kind->engine;
    const struct house *house = kind->house;

    if (!house || house->stock >= kind->target + kind->n_waiting ||
        kind->n_making >= engine->processors ||
        engine->n_making >= engine->processors * MAKING_PER_PROCESSOR)
        return false;
    return pool_is_low(house->stock, kind->target) || (!urgently && !engine->queue.n_running);
}

/* One at a time: whoever asks for something meanwhile goes first. */
static bool refill_one(struct engine *engine, bool urgently)
{
    list_each(at, &engine->kinds) {
        struct kind *kind = link_owner(at, struct kind, link);

        if (needs_one(kind, urgently) && cell_order(kind) == 0)
            return true;
    }
    return false;
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
    bool is_ready = house && house->nursery.ready;
    bool is_wanted = !house && kind->target && now_us >= kind->not_before_us;

    if (is_ready && !kind->target && !kind->n_users)
        house_dismiss(house);
    else if (is_wanted || (is_ready && pool_is_worn(house->made, now_us - house->started_us)))
        house_open(kind);
}

static void look_at_kinds(struct engine *engine, uint64_t now_us)
{
    list_each(at, &engine->kinds) {
        struct kind *kind = link_owner(at, struct kind, link);

        look_after_houses(kind, now_us);
        trim(kind);
    }
}

/* Nothing changes by itself soon, unless something arrived lately or has to be tried again. */
static uint64_t look_again(const struct engine *engine, uint64_t now_us)
{
    bool lively = engine->draining || engine->warm_next || engine->n_making;

    list_each(at, &engine->kinds) {
        const struct kind *kind = link_owner(at, struct kind, link);

        lively |=
            now_us - kind->demand.last_us < 2 * POOL_WINDOW_US || kind->n_parked != kind->target;
    }
    return now_us + (lively ? LOOK_EVERY_US : LOOK_SELDOM_US);
}

/* What cannot wait for a quiet moment.  True when something was done. */
static bool make_urgent(struct engine *engine, uint64_t now_us)
{
    if (now_us >= engine->targets_us) {
        set_targets(engine, now_us);
        engine->targets_us = now_us + TARGETS_EVERY_US;
    }
    list_each(at, &engine->kinds)
        leases_make(link_owner(at, struct kind, link));
    return refill_one(engine, true);
}

static uint64_t look_around(struct engine *engine, uint64_t now_us)
{
    if (now_us >= engine->upkeep_us) {
        look_at_kinds(engine, now_us);
        engine->upkeep_us = look_again(engine, now_us);
    }
    if (engine->queue.n_waiting && now_us >= engine->positions_us) {
        leases_tell_positions(engine);
        engine->positions_us = now_us + POSITIONS_EVERY_US;
    }
    return engine->queue.n_waiting ? earlier(engine->upkeep_us, engine->positions_us)
                                   : engine->upkeep_us;
}

uint64_t upkeep(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us = engine->draining ? engine->drain_end_us : NEVER;

    if (engine->changed) { /* what was settled may be no longer */
        engine->upkeep_us = earlier(engine->upkeep_us, now_us + LOOK_EVERY_US);
        engine->changed = make_urgent(engine, now_us);
        if (engine->changed)
            return now_us;
        engine->unsettled = true;
    }
    next_us = earlier(next_us, look_around(engine, now_us));
    if (now_us < engine->quiet_us) /* whose run just ended may have another */
        return earlier(next_us, engine->quiet_us);
    next_us = earlier(next_us, nests_clean(engine, now_us));
    if (engine->unsettled && next_us > now_us) {
        engine->unsettled = refill_one(engine, false);
        next_us = engine->unsettled ? now_us : next_us;
    }
    return next_us;
}
