/* What the engine does when no event is left: reports positions, cleans cgroup slots, fills and
 * trims pools, replaces factories.  In small steps, with a check for new requests after each. */
#include "engine/engine_internal.h"
#include "job/warm_blueprint.h"

#define LOOK_EVERY_US 250000ULL
#define LOOK_SELDOM_US 5000000ULL /* without recent demand */
#define POSITIONS_EVERY_US 100000ULL
#define TARGETS_EVERY_US 10000ULL
#define TRIM_AT_ONCE 2
#define MAKING_PER_CPU 4 /* most of these are slow and wait for each other */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sets how many sandboxes each pool keeps ready. */
static void set_targets(struct engine *engine, uint64_t now_us)
{
    struct pool_claim claims[MAX_POOLS];
    size_t n = 0;

    list_each(at, &engine->pools) {
        const struct pool *pool = link_owner(at, struct pool, link);

        claims[n++] = (struct pool_claim){
            .wanted =
                engine->draining ? 0 : pool_size_wanted(&pool->demand, &engine->limits, now_us),
            .bytes = pool->demand.bytes,
        };
    }
    pool_size_share(claims, n, &engine->limits);
    n = 0;
    list_each(at, &engine->pools)
        link_owner(at, struct pool, link)->target = claims[n++].target;
}

/* True when the pool makes one more now: with enough in stock, only while no run is active. */
static bool needs_one(const struct pool *pool, bool urgently)
{
    const struct engine *engine = pool->engine;
    const struct pool_factory *factory = pool->factory;

    if (!factory || factory->stock >= pool->target + pool->n_waiting ||
        pool->n_making >= engine->cpus || engine->n_making >= engine->cpus * MAKING_PER_CPU)
        return false;
    return pool_size_is_low(factory->stock, pool->target) ||
           (!urgently && !engine->queue.n_running);
}

/* One at a time, so that new requests come first. */
static bool refill_one(struct engine *engine, bool urgently)
{
    list_each(at, &engine->pools) {
        struct pool *pool = link_owner(at, struct pool, link);

        if (needs_one(pool, urgently) && standby_order(pool) == 0)
            return true;
    }
    return false;
}

/* The oldest end first, among them those of a retired factory. */
static void trim(struct pool *pool)
{
    for (int i = 0; i < TRIM_AT_ONCE && pool->n_ready > pool->target; i++)
        standby_end(link_owner(pool->ready.prev, struct standby, ready));
}

/* A source that is gone, or another one under the same name: of a removed image, nothing may keep
 * its files on the disk.  Clients that run in it hold it, so it has none. */
static bool is_stale(const struct pool *pool)
{
    for (size_t i = 0; i < pool->plan->n_ops; i++) {
        const struct plan_op *op = &pool->plan->ops[i];

        if (op->flags & OP_IMAGE && warm_source_identity(op->from) != op->device)
            return true;
    }
    return false;
}

static void look_after_factories(struct pool *pool, uint64_t now_us)
{
    struct pool_factory *factory = pool->factory;
    bool is_ready = factory && factory->core.ready;
    bool is_wanted = !factory && pool->target && now_us >= pool->not_before_us;

    if (is_ready && !pool->target && !pool->n_users)
        pool_factory_dismiss(factory);
    else if (is_wanted ||
             (is_ready && pool_size_is_worn(factory->made, now_us - factory->started_us)))
        pool_factory_open(pool);
}

static void look_at_pools(struct engine *engine, uint64_t now_us)
{
    list_each(at, &engine->pools) {
        struct pool *pool = link_owner(at, struct pool, link);

        if (!pool->n_users && is_stale(pool)) {
            pool_forget(pool);
            continue;
        }
        look_after_factories(pool, now_us);
        trim(pool);
    }
}

/* Later, unless there was recent demand or something must be tried again. */
static uint64_t look_again(const struct engine *engine, uint64_t now_us)
{
    bool lively = engine->draining || engine->warm_next || engine->n_making;

    list_each(at, &engine->pools) {
        const struct pool *pool = link_owner(at, struct pool, link);

        lively |=
            now_us - pool->demand.last_us < 2 * POOL_WINDOW_US || pool->n_ready != pool->target;
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
    list_each(at, &engine->pools)
        leases_make(link_owner(at, struct pool, link));
    return refill_one(engine, true);
}

static uint64_t look_around(struct engine *engine, uint64_t now_us)
{
    if (now_us >= engine->maintenance_us) {
        pool_factories_check(engine, now_us);
        look_at_pools(engine, now_us);
        engine->maintenance_us = look_again(engine, now_us);
    }
    if (engine->queue.n_waiting && now_us >= engine->positions_us) {
        leases_report_positions(engine);
        engine->positions_us = now_us + POSITIONS_EVERY_US;
    }
    return engine->queue.n_waiting ? earlier(engine->maintenance_us, engine->positions_us)
                                   : engine->maintenance_us;
}

uint64_t maintenance_run(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us =
        earlier(leases_end_waits(engine, now_us), clients_accept_again(engine, now_us));

    if (engine->draining)
        next_us = earlier(next_us, engine->drain_end_us);
    if (engine->changed) { /* stock may have to be filled again */
        engine->maintenance_us = earlier(engine->maintenance_us, now_us + LOOK_EVERY_US);
        engine->changed = make_urgent(engine, now_us);
        if (engine->changed)
            return now_us;
        engine->unsettled = true;
    }
    next_us = earlier(next_us, look_around(engine, now_us));
    if (now_us < engine->quiet_us) /* the client of the last run may have another */
        return earlier(next_us, engine->quiet_us);
    next_us = earlier(next_us, cgroup_slots_clean(engine, now_us));
    if (engine->unsettled && next_us > now_us) {
        engine->unsettled = refill_one(engine, false);
        next_us = engine->unsettled ? now_us : next_us;
    }
    return next_us;
}
