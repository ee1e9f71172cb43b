/* Control groups that runs use one after the other.  Cleaning one costs a run nothing: it is done afterwards. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define RETRY_US 1000

static bool fits(const struct nest_slot *slot, const struct plan *plan)
{
    return slot->kind == plan->cgroup_kind && slot->controllers == plan->cgroup_controllers &&
           slot->collects == (plan->n_collects > 0);
}

static struct nest_slot *find_free(const struct engine *engine, const struct plan *plan)
{
    list_each(at, &engine->free_nests) {
        struct nest_slot *slot = link_owner(at, struct nest_slot, link);

        if (fits(slot, plan))
            return slot;
    }
    return NULL;
}

/* Out of its list. */
static void close_slot(struct engine *engine, struct nest_slot *slot)
{
    nest_close(&slot->nest);
    engine->n_nests--;
    free(slot);
}

/* Out of the free ones. */
static struct nest_slot *take_free(struct engine *engine, const struct plan *plan)
{
    struct nest_slot *slot;

    while ((slot = find_free(engine, plan))) {
        link_remove(&slot->link);
        engine->n_free--;
        if (cgroup_is_whole(&slot->nest.cgroup))
            return slot;
        nests_put(engine, slot); /* it is given up where it would be cleaned */
    }
    return NULL;
}

static void close_one_free(struct engine *engine)
{
    struct link *oldest = engine->free_nests.next;

    if (oldest == &engine->free_nests)
        return;
    link_remove(oldest);
    engine->n_free--;
    close_slot(engine, link_owner(oldest, struct nest_slot, link));
}

static struct nest_slot *open_slot(struct engine *engine, const struct plan *plan, sbr_error *err)
{
    struct nest_slot *slot;

    if (engine->n_nests >= MAX_NESTS)
        close_one_free(engine);
    if (engine->n_nests >= MAX_NESTS) {
        err_set(err, SBR_E_BUSY, "engine", "all %d control groups are in use", MAX_NESTS);
        return NULL;
    }
    slot = calloc(1, sizeof(*slot));
    if (!slot) {
        err_set_oom(err, "engine");
        return NULL;
    }
    if (nest_open(&slot->nest, plan, &engine->runtime.features.cgroup, err) < 0) {
        free(slot);
        return NULL;
    }
    link_init(&slot->link);
    slot->kind = plan->cgroup_kind;
    slot->controllers = plan->cgroup_controllers;
    slot->collects = plan->n_collects > 0;
    engine->n_nests++;
    return slot;
}

struct nest_slot *nests_take(struct engine *engine, const struct plan *plan, sbr_error *err)
{
    struct nest_slot *slot = take_free(engine, plan);

    if (!slot && engine->n_dirty) { /* quicker than making another */
        (void)nests_clean(engine, clock_now_us());
        slot = take_free(engine, plan);
    }
    return slot ? slot : open_slot(engine, plan, err);
}

void nests_put(struct engine *engine, struct nest_slot *slot)
{
    slot->retry_us = 0;
    list_append(&engine->dirty_nests, &slot->link);
    engine->n_dirty++;
}

/* Out of the dirty ones, unless somebody is still on his way out. */
static void clean(struct engine *engine, struct nest_slot *slot, uint64_t now_us)
{
    sbr_error err;
    int r = nest_reset(&slot->nest, &err);

    if (r > 0) {
        slot->retry_us = now_us + RETRY_US;
        return;
    }
    link_remove(&slot->link);
    engine->n_dirty--;
    if (r < 0) {
        log_info("engine", "a control group is given up: %s", err.message);
        close_slot(engine, slot);
        return;
    }
    /* The last one used is the first to be used again: what the kernel knows of it is still at hand. */
    list_prepend(&engine->free_nests, &slot->link);
    engine->n_free++;
}

uint64_t nests_clean(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us = NEVER;
    bool cleaned = false;

    list_each(at, &engine->dirty_nests) {
        struct nest_slot *slot = link_owner(at, struct nest_slot, link);

        if (slot->retry_us <= now_us && !cleaned) {
            cleaned = true;
            clean(engine, slot, now_us);
        } else if (slot->retry_us < next_us) {
            next_us = slot->retry_us;
        }
    }
    return next_us;
}

static void close_list(struct engine *engine, struct link *list)
{
    list_each(at, list) {
        link_remove(at);
        close_slot(engine, link_owner(at, struct nest_slot, link));
    }
}

void nests_close_all(struct engine *engine)
{
    close_list(engine, &engine->free_nests);
    close_list(engine, &engine->dirty_nests);
    engine->n_free = engine->n_dirty = 0;
}
