/* Factories: started when a blueprint is wanted, watched, replaced when they are worn or dead. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define MANY_LOST 8 /* sandboxes in a row: then the factory or the blueprint is at fault */
#define SECOND_US 1000000ULL
#define START_US (120 * SECOND_US) /* until its root is built and its runtime is warm */

/* How long a sandbox may stay in a state; 0: without end.  A factory only forks, but what it forked
 * may have to start a runtime. */
static const uint64_t longest_us[] = { [STANDBY_ORDERED] = 5 * SECOND_US,
                                       [STANDBY_UNWANTED] = 5 * SECOND_US,
                                       [STANDBY_FORKED] = 30 * SECOND_US,
                                       [STANDBY_ENDING] = 0 };

static void set_reason(struct pool *pool, const char *reason)
{
    snprintf(pool->reason, sizeof(pool->reason), "%.*s", (int)sizeof(pool->reason) - 1, reason);
}

void pool_free_unused(struct pool *pool)
{
    if (!link_is_alone(&pool->link) || pool->n_factories || pool->n_users)
        return;
    plan_free(pool->plan);
    free(pool->bytes);
    pool->plan = NULL;
    pool->bytes = NULL;
    loop_free_later(&pool->engine->events, &pool->garbage);
}

/* Only without standbys and process, and after leave_pool. */
static void pool_factory_free(struct pool_factory *factory)
{
    struct pool *pool = factory->pool;

    link_remove(&factory->link);
    loop_free_later(&pool->engine->events, &factory->garbage);
    pool->n_factories--;
    pool_free_unused(pool);
}

static void end_factory(struct pool_factory *factory)
{
    struct loop *events = &factory->pool->engine->events;

    loop_remove(events, &factory->control);
    loop_remove(events, &factory->death);
    factory_end(&factory->core);
    factory->over = true;
}

static void factory_died(void *context, uint32_t events)
{
    struct pool_factory *factory = context;

    (void)events;
    end_factory(factory);
    pool_factory_free(factory);
}

/* The factory has no sandboxes left.  Does not wait for its end, which takes a while. */
static void kill_factory(struct pool_factory *factory)
{
    struct loop *events = &factory->pool->engine->events;

    loop_remove(events, &factory->control);
    factory->death = loop_watch_of(factory->core.process.pidfd, factory_died, factory);
    if (syscall(SYS_pidfd_send_signal, factory->core.process.pidfd, SIGKILL, NULL, 0) < 0 ||
        loop_add(events, &factory->death, EPOLLIN) < 0)
        factory_died(factory, 0);
}

void pool_factory_close_unused(struct pool_factory *factory)
{
    if (!factory->retired || !link_is_alone(&factory->standbys))
        return;
    if (factory->over)
        pool_factory_free(factory);
    else if (!factory->death.callback)
        kill_factory(factory);
}

static void leave_pool(struct pool_factory *factory)
{
    struct pool *pool = factory->pool;

    if (pool->factory == factory)
        pool->factory = NULL;
    if (pool->successor == factory)
        pool->successor = NULL;
}

/* Ends ready and unfinished standbys; leased ones stay. */
static void end_idle_standbys(struct pool_factory *factory)
{
    list_each(at, &factory->standbys) {
        struct standby *standby = link_owner(at, struct standby, link);

        if (standby->state != STANDBY_LEASED)
            standby_end(standby);
    }
}

/* Makes no more, and ends with its last standby; ready ones stay until they are replaced. */
static void pool_factory_retire(struct pool_factory *factory)
{
    leave_pool(factory);
    factory->retired = true;
    pool_factory_close_unused(factory);
}

void pool_factory_dismiss(struct pool_factory *factory)
{
    factory->retired = false; /* keeps it until the loop is through its standbys */
    end_idle_standbys(factory);
    pool_factory_retire(factory);
}

/* Delays the pool's next factory. */
static void note_failure(struct pool *pool, const char *reason)
{
    pool->failures++;
    pool->not_before_us = clock_now_us() + pool_size_back_off_us(pool->failures);
    set_reason(pool, reason);
    pool->engine->changed = true;
}

/* The clients that wait have nothing to wait for. */
static void report_stuck(struct pool *pool, const char *reason)
{
    if (!pool->factory && !pool->successor)
        pool->engine->reports->pool_stuck(pool, reason);
}

/* The factory is dead, or is ended here, with everything that it made. */
static void pool_factory_end(struct pool_factory *factory, const char *reason)
{
    struct pool *pool = factory->pool;

    if (factory->over)
        return;
    if (!factory->retired)
        note_failure(pool, reason);
    log_info("engine", "%s: its factory ended: %s", pool->name, reason);
    factory->over = true;
    factory->retired = false; /* keeps it until the loops are through its standbys */
    leave_pool(factory);
    end_idle_standbys(factory);
    end_factory(factory);
    list_each(at, &factory->standbys) {
        struct standby *standby = link_owner(at, struct standby, link);

        if (standby->state == STANDBY_UNWANTED)
            standby_abandon(standby);
    }
    report_stuck(pool, reason);
    pool_factory_retire(factory);
}

/* Another one has to take its place; the runs that it made sandboxes for go on. */
static void give_up(struct pool_factory *factory, const char *reason)
{
    struct pool *pool = factory->pool;

    note_failure(pool, reason);
    log_info("engine", "%s: its factory is given up: %s", pool->name, reason);
    pool_factory_dismiss(factory);
    report_stuck(pool, reason);
}

void pool_factory_failed(struct pool_factory *factory, const char *reason)
{
    struct pool *pool = factory->pool;

    set_reason(pool, reason);
    if (++pool->losses % MANY_LOST == 0 && !factory->retired)
        give_up(factory, reason);
}

static bool is_leased(const struct pool_factory *factory)
{
    list_each(at, &factory->standbys)
        if (link_owner(at, struct standby, link)->state == STANDBY_LEASED)
            return true;
    return false;
}

/* A process that was stopped, or a runtime that hangs: it is alive, and nothing comes of it. */
static bool is_silent(const struct pool_factory *factory, uint64_t now_us)
{
    if (!factory->core.ready)
        return now_us >= factory->started_us + START_US;
    list_each(at, &factory->standbys) {
        const struct standby *standby = link_owner(at, struct standby, link);
        uint64_t longest = longest_us[standby->state];

        if (longest && now_us >= standby->ordered_us + longest)
            return true;
    }
    return false;
}

void pool_factories_check(struct engine *engine, uint64_t now_us)
{
    list_each(at, &engine->factories) {
        struct pool_factory *factory = link_owner(at, struct pool_factory, link);

        if (factory->over || !is_silent(factory, now_us))
            continue;
        if (!factory->retired)
            give_up(factory, "its factory does not answer");
        else if (!is_leased(factory))
            pool_factory_end(factory, "its factory does not answer");
    }
}

static void became_ready(struct pool_factory *factory)
{
    struct pool *pool = factory->pool;
    struct pool_factory *before = pool->factory;

    log_info("engine", "%s: its factory is ready after %llu us", pool->name,
             (unsigned long long)(clock_now_us() - factory->started_us));
    pool->engine->changed = true;
    if (pool->successor != factory)
        return;
    pool->successor = NULL;
    pool->factory = factory;
    if (before)
        pool_factory_retire(before);
}

/* Reads one message per event; the rest causes another event. */
static void factory_spoke(void *context, uint32_t events)
{
    struct pool_factory *factory = context;
    struct sandbox *box = NULL;
    bool was_ready = factory->core.ready;
    sbr_error err;
    int r = factory_hear(&factory->core, &box, &err);

    (void)events;
    if (r < 0)
        pool_factory_end(factory, err.message);
    else if (r == FACTORY_FORKED)
        standby_forked(standby_of_box(box));
    else if (factory->core.ready && !was_ready)
        became_ready(factory);
}

static int start(struct pool *pool, struct pool_factory **ret, sbr_error *err)
{
    struct engine *engine = pool->engine;
    struct pool_factory *factory = calloc(1, sizeof(*factory));

    if (!factory)
        return err_set_oom(err, "engine");
    factory->pool = pool;
    factory->started_us = clock_now_us();
    link_init(&factory->standbys);
    if (factory_start(&factory->core, pool->plan, &engine->runtime.features, err) < 0) {
        free(factory);
        return err->code;
    }
    factory->control = loop_watch_of(factory->core.control, factory_spoke, factory);
    if (loop_add(&engine->events, &factory->control, EPOLLIN) < 0) {
        err_set_errno(err, "engine", "cannot watch a factory");
        factory_end(&factory->core);
        free(factory);
        return err->code;
    }
    list_append(&engine->factories, &factory->link);
    pool->n_factories++;
    *ret = factory;
    return 0;
}

void pool_factory_open(struct pool *pool)
{
    struct pool_factory **place = pool->factory ? &pool->successor : &pool->factory;
    sbr_error err;

    if (pool->successor || pool->engine->draining || clock_now_us() < pool->not_before_us)
        return;
    if (start(pool, place, &err) == 0)
        return;
    pool->failures++;
    pool->not_before_us = clock_now_us() + pool_size_back_off_us(pool->failures);
    set_reason(pool, err.message);
    log_info("engine", "%s: no factory: %s", pool->name, err.message);
}

void pool_factories_close_all(struct engine *engine)
{
    list_each(at, &engine->factories)
        pool_factory_end(link_owner(at, struct pool_factory, link), "the engine ends");
}
