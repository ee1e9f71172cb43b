/* Cgroups that serve one run after another.  They are cleaned after a run, at no cost to it. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define RETRY_US 1000

static bool fits(const struct slot_entry *slot, const struct plan *plan)
{
    return slot->cgroup_kind == plan->cgroup_kind &&
           slot->controllers == plan->cgroup_controllers &&
           slot->collects == (plan->n_collects > 0);
}

static struct slot_entry *find_free(const struct engine *engine, const struct plan *plan)
{
    list_each(at, &engine->free_slots) {
        struct slot_entry *slot = link_owner(at, struct slot_entry, link);

        if (fits(slot, plan))
            return slot;
    }
    return NULL;
}

/* The slot must be in no list. */
static void close_slot(struct engine *engine, struct slot_entry *slot)
{
    cgroup_slot_close(&slot->slot);
    engine->n_slots--;
    free(slot);
}

static struct slot_entry *take_free(struct engine *engine, const struct plan *plan)
{
    struct slot_entry *slot;

    while ((slot = find_free(engine, plan))) {
        link_remove(&slot->link);
        engine->n_free--;
        if (cgroup_is_whole(&slot->slot.cgroup))
            return slot;
        cgroup_slots_put(engine, slot); /* cleaning will close it */
    }
    return NULL;
}

static void close_one_free(struct engine *engine)
{
    struct link *oldest = engine->free_slots.next;

    if (oldest == &engine->free_slots)
        return;
    link_remove(oldest);
    engine->n_free--;
    close_slot(engine, link_owner(oldest, struct slot_entry, link));
}

static struct slot_entry *open_slot(struct engine *engine, const struct plan *plan, sbr_error *err)
{
    struct slot_entry *slot;

    if (engine->n_slots >= MAX_SLOTS)
        close_one_free(engine);
    if (engine->n_slots >= MAX_SLOTS) {
        err_set(err, SBR_E_BUSY, "engine", "all %d cgroups are in use", MAX_SLOTS);
        return NULL;
    }
    slot = calloc(1, sizeof(*slot));
    if (!slot) {
        err_set_oom(err, "engine");
        return NULL;
    }
    if (cgroup_slot_open(&slot->slot, plan, &engine->runtime.features.cgroup, err) < 0) {
        free(slot);
        return NULL;
    }
    link_init(&slot->link);
    slot->cgroup_kind = plan->cgroup_kind;
    slot->controllers = plan->cgroup_controllers;
    slot->collects = plan->n_collects > 0;
    engine->n_slots++;
    return slot;
}

struct slot_entry *cgroup_slots_take(struct engine *engine, const struct plan *plan, sbr_error *err)
{
    struct slot_entry *slot = take_free(engine, plan);

    if (!slot && engine->n_dirty) { /* faster than making another */
        (void)cgroup_slots_clean(engine, clock_now_us());
        slot = take_free(engine, plan);
    }
    return slot ? slot : open_slot(engine, plan, err);
}

void cgroup_slots_put(struct engine *engine, struct slot_entry *slot)
{
    slot->retry_us = 0;
    list_append(&engine->dirty_slots, &slot->link);
    engine->n_dirty++;
}

/* Moves the slot from dirty to free, unless a process has not left the cgroup yet. */
static void clean(struct engine *engine, struct slot_entry *slot, uint64_t now_us)
{
    sbr_error err;
    int r = cgroup_slot_reset(&slot->slot, &err);

    if (r > 0) {
        slot->retry_us = now_us + RETRY_US;
        return;
    }
    link_remove(&slot->link);
    engine->n_dirty--;
    if (r < 0) {
        log_info("engine", "a cgroup is given up: %s", err.message);
        close_slot(engine, slot);
        return;
    }
    /* The last one used is reused first, because the kernel still has it in its caches. */
    list_prepend(&engine->free_slots, &slot->link);
    engine->n_free++;
}

uint64_t cgroup_slots_clean(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us = NEVER;
    bool cleaned = false;

    list_each(at, &engine->dirty_slots) {
        struct slot_entry *slot = link_owner(at, struct slot_entry, link);

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
        close_slot(engine, link_owner(at, struct slot_entry, link));
    }
}

void cgroup_slots_close_all(struct engine *engine)
{
    close_list(engine, &engine->free_slots);
    close_list(engine, &engine->dirty_slots);
    engine->n_free = engine->n_dirty = 0;
}
