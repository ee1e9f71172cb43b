/* Makes the most common sandboxes ready before the first request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"
#include "job/warm_trivial.h"

#define LANGUAGE_SIZE 40

/* Cuts the next name off the list; false: there is none left. */
static bool next_name(struct engine *engine, char name[LANGUAGE_SIZE])
{
    size_t len;

    if (!engine->warm_next)
        return false;
    len = strcspn(engine->warm_next, ",");
    snprintf(name, LANGUAGE_SIZE, "%.*s", (int)len, engine->warm_next);
    engine->warm_next += len + (engine->warm_next[len] == ',');
    if (!*engine->warm_next)
        engine->warm_next = NULL;
    return true;
}

static struct pool *add_plan(struct engine *engine, const struct plan *plan,
                             const struct engine_request *request, sbr_error *err)
{
    struct buf bytes;
    size_t len;
    char *data;

    buf_init(&bytes, ENGINE_MAX_BLUEPRINT);
    if (plan_encode(plan, &bytes, err) < 0) {
        buf_done(&bytes);
        return NULL;
    }
    data = buf_take(&bytes, &len);
    if (!data) {
        err_set_oom(err, "engine");
        return NULL;
    }
    return pool_add_bytes(engine, request, data, len, err);
}

/* A trivial run in the language has the most common blueprint. */
static int warm_up(struct engine *engine, const char *language, sbr_error *err)
{
    struct engine_request request = { .version = ENGINE_VERSION, .ask = ENGINE_LEASE };
    struct plan *plan = NULL;
    struct pool *pool;

    if (warm_blueprint_for(&engine->runtime, strcmp(language, ENGINE_COMMAND) ? language : NULL,
                           &plan, request.key, err) < 0)
        return err->code;
    snprintf(request.label, sizeof(request.label), "%.20s run", language);
    request.cgroup_kind = plan->cgroup_kind;
    request.cgroup_controllers = plan->cgroup_controllers;
    pool = pool_find(engine, request.key);
    if (!pool)
        pool = add_plan(engine, plan, &request, err);
    plan_free(plan);
    if (!pool)
        return err->code;
    pool->demand.pinned = true;
    if (!pool->factory)
        pool_factory_open(pool);
    engine->changed = true;
    return 0;
}

/* The simplest run: if even its sandbox cannot be made ahead, none can. */
void prewarm_try(struct engine *engine)
{
    char key[SHA256_HEX_SIZE];
    struct plan *plan = NULL;
    sbr_error err;

    if (warm_blueprint_for(&engine->runtime, NULL, &plan, key, &err) < 0)
        snprintf(engine->why_cold, sizeof(engine->why_cold), "%.*s", (int)strcspn(err.message, ";"),
                 err.message); /* without what a run could do */
    plan_free(plan);
}

void prewarm_next(struct engine *engine)
{
    char name[LANGUAGE_SIZE];
    sbr_error err;

    if (next_name(engine, name) && name[0] && warm_up(engine, name, &err) < 0)
        log_info("engine", "%s is not made ready: %s", name, err.message);
}

bool prewarm_is_over(const struct engine *engine)
{
    if (engine->warm_next)
        return false;
    if (clock_now_us() >= engine->warm_end_us)
        return true;
    list_each(at, &engine->pools) {
        const struct pool *pool = link_owner(at, struct pool, link);

        if (pool->demand.pinned && !pool->failures && !pool->losses &&
            (!pool->target || pool->n_ready < pool->target))
            return false;
    }
    return true;
}
