/* Templates that are known: sent by clients, checked, kept while somebody uses them or lately did. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/scope.h"
#include "base/text.h"
#include "engine/engine_internal.h"
#include "job/warm_check.h"
#include "plan/blueprint.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* What a parked one takes, until one was measured. */
static const uint64_t first_guess[N_PARKS] = {
    [PARK_SHELL] = MIB, [PARK_DRIVER] = 48 * MIB, [PARK_ZYGOTE] = 4 * MIB
};

struct kind *kind_find(struct engine *engine, const char *key)
{
    list_each(at, &engine->kinds) {
        struct kind *kind = link_owner(at, struct kind, link);

        if (!strcmp(kind->key, key))
            return kind;
    }
    return NULL;
}

void kind_touch(struct kind *kind)
{
    link_remove(&kind->link);
    list_prepend(&kind->engine->kinds, &kind->link);
}

void kind_free_unused(struct kind *kind)
{
    if (!link_is_alone(&kind->link) || kind->n_houses || kind->n_users)
        return;
    plan_free(kind->plan);
    free(kind->bytes);
    kind->plan = NULL;
    kind->bytes = NULL;
    events_bury(&kind->engine->events, &kind->grave);
}

void kind_forget(struct kind *kind)
{
    struct engine *engine = kind->engine;

    log_info("engine", "%s: is forgotten", kind->name);
    link_remove(&kind->link);
    engine->n_kinds--;
    kind->n_users++; /* stays until all houses were looked at */
    list_each(at, &engine->houses) {
        struct house *house = link_owner(at, struct house, link);

        if (house->kind == kind)
            house_dismiss(house);
    }
    kind->n_users--;
    kind_free_unused(kind);
}

/* The least recently used one that nobody uses. */
static bool forget_oldest(struct engine *engine)
{
    for (struct link *at = engine->kinds.prev; at != &engine->kinds; at = at->prev) {
        struct kind *kind = link_owner(at, struct kind, link);

        if (kind->n_users)
            continue;
        kind_forget(kind);
        return true;
    }
    return false;
}

/* A memory file that nobody can change any more, of a size that a template may have. */
static int read_template(int fd, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *bytes = NULL;
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size <= 0 ||
        st.st_size > (off_t)ENGINE_MAX_TEMPLATE)
        return err_set(err, SBR_E_INVALID, "engine", "the template is no sealed memory file");
    bytes = malloc((size_t)st.st_size);
    if (!bytes)
        return err_set_oom(err, "engine");
    if (pread(fd, bytes, (size_t)st.st_size, 0) != (ssize_t)st.st_size)
        return err_set_errno(err, "engine", "cannot read the template");
    *ret_len = (size_t)st.st_size;
    *ret = take_ptr(bytes);
    return 0;
}

/* The key says what the template is: a wrong one would give a run another's sandbox. */
static int check(struct plan *plan, const struct engine_request *request, sbr_error *err)
{
    char key[SHA256_HEX_SIZE];

    if (plan->park == PARK_NOT)
        return err_set(err, SBR_E_INVALID, "engine", "this is no template");
    plan->cgroup_kind = request->cgroup_kind;
    plan->cgroup_controllers = request->cgroup_controllers;
    if (park_key(plan, key, err) < 0)
        return err->code;
    if (strcmp(key, request->key) != 0)
        return err_set(err, SBR_E_INVALID, "engine", "the template is not what its key says");
    return 0;
}

/* For people: what the client calls it, or what waits inside. */
static void choose_name(struct kind *kind, const struct engine_request *request)
{
    static const char *const forms[N_PARKS] = { "", "shell", "driver", "zygote" };
    const char *command = kind->plan->argv && kind->plan->argv[0] ? kind->plan->argv[0] : "-";
    const char *slash = strrchr(command, '/');

    if (request->label[0])
        snprintf(kind->name, sizeof(kind->name), "%s", request->label);
    else
        snprintf(kind->name, sizeof(kind->name), "%s %.20s", forms[kind->plan->park],
                 slash ? slash + 1 : command);
    for (char *c = kind->name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* Not part of the key: what is loaded ahead makes no difference but in time. */
static int add_preload(struct kind *kind, sbr_error *err)
{
    struct plan *plan = kind->plan;
    const char *list = kind->engine->config.preload, **env;
    size_t n = 0;

    if (!list || plan->park != PARK_ZYGOTE)
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

static int fill(struct kind *kind, const struct engine_request *request, size_t len, sbr_error *err)
{
    if (plan_decode(kind->bytes, len, &kind->plan, err) < 0 || check(kind->plan, request, err) < 0)
        return err->code;
    snprintf(kind->key, sizeof(kind->key), "%s", request->key);
    choose_name(kind, request);
    if (add_preload(kind, err) < 0)
        return err->code;
    kind->demand.bytes = first_guess[kind->plan->park];
    return 0;
}

struct kind *kind_add_bytes(struct engine *engine, const struct engine_request *request,
                            char *take_bytes, size_t len, sbr_error *err)
{
    struct kind *kind = calloc(1, sizeof(*kind));

    if (!kind) {
        free(take_bytes);
        err_set_oom(err, "engine");
        return NULL;
    }
    kind->engine = engine;
    kind->bytes = take_bytes;
    link_init(&kind->link);
    link_init(&kind->parked);
    link_init(&kind->waiting);
    if (fill(kind, request, len, err) < 0) {
        plan_free(kind->plan);
        free(kind->bytes);
        free(kind);
        return NULL;
    }
    list_prepend(&engine->kinds, &kind->link);
    engine->n_kinds++;
    log_info("engine", "%s: is new, %.8s", kind->name, kind->key);
    return kind;
}

/* Whoever sent it: nothing is built that our own planner would not have asked for. */
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

static struct kind *add_foreign(struct engine *engine, const struct engine_request *request, int fd,
                                sbr_error *err)
{
    char *bytes = NULL;
    size_t len = 0;

    if (read_template(fd, &bytes, &len, err) < 0)
        return NULL;
    if (check_origin(engine, request, bytes, len, err) < 0) {
        free(bytes);
        return NULL;
    }
    return kind_add_bytes(engine, request, bytes, len, err);
}

struct kind *kind_add(struct engine *engine, const struct engine_request *request, int fd,
                      sbr_error *err)
{
    struct kind *kind;

    if (engine->n_kinds >= MAX_KINDS && !forget_oldest(engine)) {
        err_set(err, SBR_E_BUSY, "engine", "all %d kinds of runs are in use", MAX_KINDS);
        kind = NULL;
    } else {
        kind = add_foreign(engine, request, fd, err);
    }
    if (!kind)
        log_info("engine", "a template was not taken: %s", err->message);
    return kind;
}
