/* The states of one sandbox:
 *
 *   ORDERED --forked--> FORKED --ready--> READY --granted--> LEASED --done or gone--> ENDING
 *      \____________ dies, fails or is not wanted any more: ENDING ____________/
 *   ORDERED --not wanted any more--> UNWANTED --forked--> ENDING
 *   ENDING --dead--> freed, its cgroup slot is dirty */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define YOUNG_US 10000000ULL
#define MEASURE_EVERY 32 /* the memory of a ready sandbox */

static struct engine *engine_of(const struct standby *standby)
{
    return standby->factory->pool->engine;
}

/* Nothing in it is alive. */
static void finish(struct standby *standby)
{
    struct engine *engine = engine_of(standby);
    struct pool_factory *factory = standby->factory;

    loop_remove(&engine->events, &standby->control);
    loop_remove(&engine->events, &standby->death);
    standby_notify_stop(standby);
    if (!standby->given_away) {
        sandbox_end(&standby->box);
        sandbox_done(&standby->box);
    }
    ids_release(&standby->ids);
    scope_close_fd(&standby->pidfd);
    cgroup_slots_put(engine, standby->slot);
    link_remove(&standby->link);
    loop_free_later(&engine->events, &standby->garbage);
    engine->changed = true;
    engine->reports->standby_gone(factory);
}

static void leave_state(struct standby *standby)
{
    struct pool *pool = standby->factory->pool;

    switch (standby->state) {
    case STANDBY_ORDERED:
    case STANDBY_FORKED:
        pool->n_making--;
        engine_of(standby)->n_making--;
        standby->factory->stock--;
        break;
    case STANDBY_READY:
        link_remove(&standby->ready);
        pool->n_ready--;
        standby->factory->stock--;
        break;
    case STANDBY_LEASED:
        pool->n_leased--;
        break;
    case STANDBY_UNWANTED:
    case STANDBY_ENDING:
        break;
    }
}

static void kill_all_in(struct standby *standby)
{
    if (!standby->given_away)
        sandbox_kill(&standby->box);
    else
        syscall(SYS_pidfd_send_signal, standby->pidfd, SIGKILL, NULL, 0);
}

/* Of one that is forked. */
static void end_forked(struct standby *standby)
{
    leave_state(standby);
    standby->state = STANDBY_ENDING;
    loop_remove(&engine_of(standby)->events, &standby->control);
    standby_notify_stop(standby);
    if (standby->dead) {
        finish(standby);
        return;
    }
    kill_all_in(standby);
}

void standby_end(struct standby *standby)
{
    if (standby->state == STANDBY_ORDERED) { /* it must be forked first, which may never happen */
        leave_state(standby);
        standby->state = STANDBY_UNWANTED;
    } else if (standby->state != STANDBY_UNWANTED && standby->state != STANDBY_ENDING) {
        end_forked(standby);
    }
}

void standby_abandon(struct standby *standby)
{
    leave_state(standby);
    standby->state = STANDBY_ENDING;
    finish(standby);
}

void standby_lease(struct standby *standby)
{
    struct pool *pool = standby->factory->pool;

    standby_notify_stop(standby);
    leave_state(standby);
    standby->state = STANDBY_LEASED;
    pool->n_leased++;
    pool->failures = pool->losses = 0;
    pool->reason[0] = '\0';
    standby->pidfd = take_fd(standby->box.init.pidfd);
    standby->ids = standby->box.ids;
    standby->box.ids.lock_fd = -1;
    sandbox_done(&standby->box);
    standby->given_away = true;
}

/* Reports the loss of a sandbox that was not handed over yet. */
static void lost(struct standby *standby, const char *reason)
{
    struct pool_factory *factory = standby->factory;
    struct pool *pool = factory->pool;
    bool young = clock_now_us() - standby->ordered_us < YOUNG_US;

    pool->died++;
    pool->engine->n_died++;
    log_info("engine", "%s: a sandbox was lost: %s", pool->name, reason);
    standby_end(standby);
    if (young)
        pool->engine->reports->standby_failed(factory, reason);
}

/* Its init is dead, and with it everything inside. */
static void death_came(void *context, uint32_t events)
{
    struct standby *standby = context;

    (void)events;
    loop_remove(&engine_of(standby)->events, &standby->death);
    standby->dead = true;
    if (standby->state == STANDBY_ENDING) {
        finish(standby);
    } else if (standby->state != STANDBY_LEASED) {
        sbr_error err;

        (void)sandbox_failure(&standby->box, &err);
        lost(standby, standby->state == STANDBY_READY ? "it died while it waited" : err.message);
    }
}

static void measure(struct standby *standby)
{
    struct cgroup_usage usage;
    struct pool *pool = standby->factory->pool;

    if (pool->made % MEASURE_EVERY != 1)
        return;
    cgroup_read(&standby->slot->slot.cgroup, &usage);
    if (usage.peak_memory_bytes)
        pool->demand.bytes = usage.peak_memory_bytes;
}

/* A sandbox of a new factory replaces one of the retired factory. */
static void make_room(struct pool *pool)
{
    struct standby *oldest = link_owner(pool->ready.prev, struct standby, ready);

    if (pool->n_ready > pool->target && oldest->factory->retired)
        standby_end(oldest);
}

static void ready(struct standby *standby)
{
    struct pool *pool = standby->factory->pool;

    loop_remove(&pool->engine->events, &standby->control);
    leave_state(standby);
    standby->state = STANDBY_READY;
    list_prepend(&pool->ready, &standby->ready);
    pool->n_ready++;
    standby->factory->stock++;
    pool->made++;
    pool->engine->n_made++;
    pool->engine->changed = true;
    pool_size_made(&pool->demand, clock_now_us() - standby->ordered_us);
    if (pool->engine->reports->standby_ready(pool))
        return;
    measure(standby);
    make_room(pool);
}

static void control_spoke(void *context, uint32_t events)
{
    struct standby *standby = context;
    sbr_error err;
    int r = factory_box_news(&standby->factory->core, &standby->box, &err);

    (void)events;
    if (r < 0)
        lost(standby, err.message);
    else if (r == FACTORY_STANDBY)
        ready(standby);
    else
        standby_notify_answer(standby);
}

static int watch_standby(struct standby *standby)
{
    struct engine *engine = engine_of(standby);

    standby->control = loop_watch_of(standby->box.control, control_spoke, standby);
    standby->death = loop_watch_of(standby->box.init.pidfd, death_came, standby);
    return loop_add(&engine->events, &standby->control, EPOLLIN) < 0 ||
                   loop_add(&engine->events, &standby->death, EPOLLIN) < 0
               ? -1
               : 0;
}

void standby_forked(struct standby *standby)
{
    bool is_wanted = standby->state == STANDBY_ORDERED;

    if (is_wanted)
        standby->state = STANDBY_FORKED;
    if (watch_standby(standby) < 0) { /* nothing would report its end, so wait for it */
        lost(standby, "it cannot be watched");
        finish(standby);
    } else if (!is_wanted) {
        end_forked(standby);
    }
}

struct standby *standby_of_box(struct sandbox *box)
{
    return link_owner(box, struct standby, box);
}

static bool can_make(const struct pool_factory *factory)
{
    return factory && !factory->over && factory->core.ready &&
           factory->core.n_making < FACTORY_MAX_MAKING;
}

int standby_order(struct pool *pool)
{
    struct engine *engine = pool->engine;
    struct pool_factory *factory = pool->factory;
    struct standby *standby;
    sbr_error err;

    if (!can_make(factory))
        return SBR_E_BUSY;
    standby = calloc(1, sizeof(*standby));
    if (!standby)
        return SBR_E_NO_MEMORY;
    standby->slot = cgroup_slots_take(engine, pool->plan, &err);
    if (!standby->slot) {
        free(standby);
        log_info("engine", "%s: %s", pool->name, err.message);
        return err.code;
    }
    standby->factory = factory;
    standby->pidfd = standby->ids.lock_fd = -1;
    standby->ordered_us = clock_now_us();
    link_init(&standby->ready);
    link_init(&standby->link);
    if (factory_make(&factory->core, &standby->slot->slot, &standby->box, &err) < 0) {
        cgroup_slots_put(engine, standby->slot);
        free(standby);
        engine->reports->standby_failed(factory, err.message);
        return err.code;
    }
    list_append(&factory->standbys, &standby->link);
    factory->made++;
    factory->stock++;
    pool->n_making++;
    engine->n_making++;
    return 0;
}
