/* The engine's state as JSON, for `sandbox-run serve --status` and other clients. */
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "engine/engine_internal.h"

static const char *const standby_kind_names[N_STANDBY_KINDS] = { "none", "shell", "driver",
                                                                 "zygote" };

static const char *state_of(const struct pool *pool)
{
    if (pool->factory)
        return pool->factory->core.ready ? "ready" : "starting";
    if (pool->successor)
        return "starting";
    return clock_now_us() < pool->not_before_us ? "failed" : "idle";
}

static void put_pool(struct jsonw *j, const struct pool *pool)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "name", pool->name);
    jsonw_text(j, "key", pool->key);
    jsonw_text(j, "park", standby_kind_names[pool->plan->standby]);
    jsonw_text(j, "state", state_of(pool));
    jsonw_number(j, "wanted", pool->target);
    jsonw_number(j, "parked", pool->n_ready);
    jsonw_number(j, "making", pool->n_making);
    jsonw_number(j, "leased", pool->n_leased);
    jsonw_number(j, "waiting", pool->n_waiting);
    jsonw_number(j, "made", pool->made);
    jsonw_number(j, "died", pool->died);
    jsonw_number(j, "given_parked", pool->given_ready);
    jsonw_number(j, "given_forked", pool->given_forked);
    jsonw_number(j, "given_cold", pool->given_cold);
    jsonw_number(j, "make_us", pool->demand.make_us);
    jsonw_number(j, "parked_bytes", pool->demand.bytes);
    jsonw_number(j, "factory_pid",
                 pool->factory && !pool->factory->over ? (uint64_t)pool->factory->core.process.pid
                                                       : 0);
    jsonw_text(j, "reason", pool->reason[0] ? pool->reason : NULL);
    jsonw_close(j, '}');
}

static void put_pools(struct jsonw *j, const struct engine *engine)
{
    jsonw_open(j, "pools", '[');
    list_each(at, &engine->pools)
        put_pool(j, link_owner(at, struct pool, link));
    jsonw_close(j, ']');
}

static void put_callers(struct jsonw *j, const struct queue *queue)
{
    jsonw_open(j, "callers", '[');
    list_each(at, &queue->known) {
        const struct queue_caller *caller = link_owner(at, struct queue_caller, known);

        jsonw_open(j, NULL, '{');
        jsonw_path(j, "name", caller->name);
        jsonw_number(j, "running", caller->n_running);
        jsonw_number(j, "queued", caller->n_waiting);
        jsonw_number(j, "reserved_bytes", caller->memory_running);
        jsonw_number(j, "share", caller->share);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_queue(struct jsonw *j, const struct engine *engine)
{
    const struct queue *queue = &engine->queue;

    jsonw_number(j, "connections", engine->n_clients);
    jsonw_number(j, "running", queue->n_running);
    jsonw_number(j, "slots", queue->slots);
    jsonw_number(j, "queued", queue->n_waiting);
    jsonw_number(j, "queue_limit", queue->depth);
    jsonw_number(j, "per_caller", queue->per_caller);
    jsonw_number(j, "share", engine->share);
}

static void put_attendant(struct jsonw *j, const struct engine *engine)
{
    const struct attendant *a = &engine->attendant;

    if (!engine->config.attendant)
        return;
    jsonw_open(j, "gateway", '{');
    jsonw_number(j, "pid", a->pid > 0 ? (uint64_t)a->pid : 0);
    jsonw_number(j, "restarts", a->n_restarts);
    jsonw_close(j, '}');
}

static void put_totals(struct jsonw *j, const struct engine *engine)
{
    jsonw_number(j, "parked_total", engine->given_ready);
    jsonw_number(j, "forked_total", engine->given_forked);
    jsonw_number(j, "cold_total", engine->given_cold);
    jsonw_number(j, "refused_total", engine->n_refused);
    jsonw_number(j, "strangers_total", engine->n_foreign);
    jsonw_number(j, "made_total", engine->n_made);
    jsonw_number(j, "died_total", engine->n_died);
}

static void put_memory(struct jsonw *j, const struct engine *engine)
{
    uint64_t bytes = 0;

    list_each(at, &engine->pools) {
        const struct pool *pool = link_owner(at, struct pool, link);

        bytes += pool->n_ready * pool->demand.bytes;
    }
    jsonw_open(j, "memory", '{');
    jsonw_number(j, "parked_bytes", bytes);
    jsonw_number(j, "limit_bytes", engine->limits.memory_bytes);
    jsonw_number(j, "reserved_bytes", engine->queue.memory_running);
    jsonw_number(j, "run_limit_bytes", engine->queue.memory);
    jsonw_close(j, '}');
    jsonw_open(j, "groups", '{');
    jsonw_number(j, "all", engine->n_slots);
    jsonw_number(j, "free", engine->n_free);
    jsonw_number(j, "dirty", engine->n_dirty);
    jsonw_close(j, '}');
}

char *engine_status_json(const struct engine *engine)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "version", ENGINE_VERSION_TEXT);
    jsonw_number(&j, "protocol", ENGINE_VERSION);
    jsonw_number(&j, "pid", (uint64_t)getpid());
    jsonw_number(&j, "uptime_ms", (clock_now_us() - engine->started_us) / 1000);
    jsonw_bool(&j, "ready", engine->ready);
    jsonw_bool(&j, "draining", engine->draining);
    jsonw_text(&j, "why_cold", engine->why_cold[0] ? engine->why_cold : NULL);
    put_queue(&j, engine);
    put_totals(&j, engine);
    put_memory(&j, engine);
    put_attendant(&j, engine);
    put_pools(&j, engine);
    put_callers(&j, &engine->queue);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}
