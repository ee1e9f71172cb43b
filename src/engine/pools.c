/* Known blueprints, sent by clients: checked, and kept while in use or recently used. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/engine_internal.h"
#include "job/warm_check.h"
#include "plan/blueprint.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* Memory of a ready sandbox, until one was measured. */
static const uint64_t first_guess[N_STANDBY_KINDS] = {
    [STANDBY_SHELL] = MIB, [STANDBY_DRIVER] = 48 * MIB, [STANDBY_ZYGOTE] = 4 * MIB
};

struct pool *pool_find(struct engine *engine, const char *key)
{
    list_each(at, &engine->pools) {
        struct pool *pool = link_owner(at, struct pool, link);

        if (!strcmp(pool->key, key))
            return pool;
    }
    return NULL;
}

void pool_touch(struct pool *pool)
{
    link_remove(&pool->link);
    list_prepend(&pool->engine->pools, &pool->link);
}

void pool_forget(struct pool *pool)
{
    struct engine *engine = pool->engine;

    log_info("engine", "%s: is forgotten", pool->name);
    link_remove(&pool->link);
    engine->n_pools--;
    pool->n_users++; /* keeps it until the loop is through its factories */
    list_each(at, &engine->factories) {
        struct pool_factory *factory = link_owner(at, struct pool_factory, link);

        if (factory->pool == pool)
            pool_factory_dismiss(factory);
    }
    pool->n_users--;
    pool_free_unused(pool);
}

static bool forget_oldest(struct engine *engine)
{
    for (struct link *at = engine->pools.prev; at != &engine->pools; at = at->prev) {
        struct pool *pool = link_owner(at, struct pool, link);

        if (pool->n_users)
            continue;
        pool_forget(pool);
        return true;
    }
    return false;
}

/* Accepts only a sealed memory file, which cannot change any more, of an allowed size. */
static int read_blueprint(int fd, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *bytes = NULL;
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size <= 0 ||
        st.st_size > (off_t)ENGINE_MAX_BLUEPRINT)
        return err_set(err, SBR_E_INVALID, "engine", "the blueprint is no sealed memory file");
    bytes = malloc((size_t)st.st_size);
    if (!bytes)
        return err_set_oom(err, "engine");
    if (pread(fd, bytes, (size_t)st.st_size, 0) != (ssize_t)st.st_size)
        return err_set_errno(err, "engine", "cannot read the blueprint");
    *ret_len = (size_t)st.st_size;
    *ret = take_ptr(bytes);
    return 0;
}

/* The key must match the blueprint: with a wrong one a run would get another run's sandbox. */
static int check(struct plan *plan, const struct engine_request *request, sbr_error *err)
{
    char key[SHA256_HEX_SIZE];

    if (plan->standby == STANDBY_NONE)
        return err_set(err, SBR_E_INVALID, "engine", "this is no blueprint");
    plan->cgroup_kind = request->cgroup_kind;
    plan->cgroup_controllers = request->cgroup_controllers;
    if (blueprint_key(plan, key, err) < 0)
        return err->code;
    if (strcmp(key, request->key) != 0)
        return err_set(err, SBR_E_INVALID, "engine", "the blueprint is not what its key says");
    return 0;
}

/* For people: the client's label, or what runs inside. */
static void choose_name(struct pool *pool, const struct engine_request *request)
{
    static const char *const forms[N_STANDBY_KINDS] = { "", "shell", "driver", "zygote" };
    const char *command = pool->plan->argv && pool->plan->argv[0] ? pool->plan->argv[0] : "-";
    const char *slash = strrchr(command, '/');

    if (request->label[0])
        snprintf(pool->name, sizeof(pool->name), "%s", request->label);
    else
        snprintf(pool->name, sizeof(pool->name), "%s %.20s", forms[pool->plan->standby],
                 slash ? slash + 1 : command);
    for (char *c = pool->name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* Not part of the key: preloading only affects time. */
static int add_preload(struct pool *pool, sbr_error *err)
{
    struct plan *plan = pool->plan;
    const char *list = pool->engine->config.preload, **env;
    size_t n = 0;

    if (!list || plan->standby != STANDBY_ZYGOTE)
        return 0;
    while (plan->env[n])
        n++;
    env = plan_alloc(plan, (n + 2) * sizeof(*env));
    if (!env)
        return err_set_oom(err, "engine");
    memcpy(env, plan->env, n * sizeof(*env));
    env[n] = plan_printf(plan, "SANDBOX_RUN_PRELOAD=%s", list);
    env[n + 1] = NULL;
    plan->env = env;
    return env[n] ? 0 : err_set_oom(err, "engine");
}

static int fill(struct pool *pool, const struct engine_request *request, size_t len, sbr_error *err)
{
    if (plan_decode(pool->bytes, len, &pool->plan, err) < 0 || check(pool->plan, request, err) < 0)
        return err->code;
    snprintf(pool->key, sizeof(pool->key), "%s", request->key);
    choose_name(pool, request);
    if (add_preload(pool, err) < 0)
        return err->code;
    pool->demand.bytes = first_guess[pool->plan->standby];
    return 0;
}

struct pool *pool_add_bytes(struct engine *engine, const struct engine_request *request,
                            char *take_bytes, size_t len, sbr_error *err)
{
    struct pool *pool = engine->n_pools < MAX_POOLS ? calloc(1, sizeof(*pool)) : NULL;

    if (!pool) {
        free(take_bytes);
        err_set(err, SBR_E_BUSY, "engine", "there is no room for another pool");
        return NULL;
    }
    pool->engine = engine;
    pool->bytes = take_bytes;
    link_init(&pool->link);
    link_init(&pool->ready);
    link_init(&pool->waiting);
    if (fill(pool, request, len, err) < 0) {
        plan_free(pool->plan);
        free(pool->bytes);
        free(pool);
        return NULL;
    }
    list_prepend(&engine->pools, &pool->link);
    engine->n_pools++;
    log_info("engine", "%s: is new, %.8s", pool->name, pool->key);
    return pool;
}

/* Builds only what our own planner would have requested, whichever client sent it. */
static int check_origin(const struct engine *engine, const struct engine_request *request,
                        const char *bytes, size_t len, sbr_error *err)
{
    struct plan *plan = NULL;
    int r = plan_decode(bytes, len, &plan, err);

    if (r == 0) {
        plan->cgroup_kind = request->cgroup_kind;
        plan->cgroup_controllers = request->cgroup_controllers;
        r = warm_check(&engine->runtime, plan, request, err);
    }
    plan_free(plan);
    return r;
}

static struct pool *add_foreign(struct engine *engine, const struct engine_request *request, int fd,
                                sbr_error *err)
{
    char *bytes = NULL;
    size_t len = 0;

    if (read_blueprint(fd, &bytes, &len, err) < 0)
        return NULL;
    if (check_origin(engine, request, bytes, len, err) < 0) {
        free(bytes);
        return NULL;
    }
    return pool_add_bytes(engine, request, bytes, len, err);
}

struct pool *pool_add(struct engine *engine, const struct engine_request *request, int fd,
                      sbr_error *err)
{
    struct pool *pool;

    if (engine->n_pools >= MAX_POOLS && !forget_oldest(engine)) {
        err_set(err, SBR_E_BUSY, "engine", "all %d pools are in use", MAX_POOLS);
        pool = NULL;
    } else {
        pool = add_foreign(engine, request, fd, err);
    }
    if (!pool)
        log_info("engine", "a blueprint was not taken: %s", err->message);
    return pool;
}
