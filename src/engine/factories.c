/* Nurseries: started when a template is wanted, watched, replaced when they are worn or dead. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define MANY_LOST 8 /* sandboxes in a row: then it is the nursery's fault, or the template's */

bool kind_can_make(const struct kind *kind)
{
    const struct house *house = kind->house;

    return house && !house->over && house->nursery.ready &&
           house->nursery.n_making < NURSERY_MAX_MAKING;
}

static void set_reason(struct kind *kind, const char *reason)
{
    snprintf(kind->reason, sizeof(kind->reason), "%.*s", (int)sizeof(kind->reason) - 1, reason);
}

/* Without cells and nursery, and out of its kind. */
static void house_free(struct house *house)
{
    struct kind *kind = house->kind;

    link_remove(&house->link);
    events_bury(&kind->engine->events, &house->grave);
    kind->n_houses--;
    kind_free_unused(kind);
}

static void end_nursery(struct house *house)
{
    struct events *events = &house->kind->engine->events;

    events_remove(events, &house->control);
    events_remove(events, &house->death);
    nursery_end(&house->nursery);
    house->over = true;
}

static void nursery_died(void *context, uint32_t events)
{
    struct house *house = context;

    (void)events;
    end_nursery(house);
    house_free(house);
}

/* It has nothing to lose any more.  Its end takes a while, which is not waited for. */
static void kill_nursery(struct house *house)
{
    struct events *events = &house->kind->engine->events;

    events_remove(events, &house->control);
    house->death = (struct watch){ house->nursery.process.pidfd, nursery_died, house };
    if (syscall(SYS_pidfd_send_signal, house->nursery.process.pidfd, SIGKILL, NULL, 0) < 0 ||
        events_add(events, &house->death, EPOLLIN) < 0)
        nursery_died(house, 0);
}

void house_close_unused(struct house *house)
{
    if (!house->retired || !link_is_alone(&house->cells))
        return;
    if (house->over)
        house_free(house);
    else if (!house->death.callback)
        kill_nursery(house);
}

static void leave_kind(struct house *house)
{
    struct kind *kind = house->kind;

    if (kind->house == house)
        kind->house = NULL;
    if (kind->successor == house)
        kind->successor = NULL;
}

/* What is parked or on its way there; what is leased stays. */
static void end_idle_cells(struct house *house)
{
    list_each(at, &house->cells) {
        struct cell *cell = link_owner(at, struct cell, link);

        if (cell->state != CELL_LEASED)
            cell_end(cell);
    }
}

void house_retire(struct house *house)
{
    leave_kind(house);
    house->retired = true;
    house_close_unused(house);
}

void house_dismiss(struct house *house)
{
    house->retired = false; /* it must not go before the last of its cells was looked at */
    end_idle_cells(house);
    house_retire(house);
}

/* The nursery is dead, or is ended here, and all that it made with it. */
static void house_end(struct house *house, const char *reason)
{
    struct kind *kind = house->kind;
    struct engine *engine = kind->engine;

    if (house->over)
        return;
    kind->failures++;
    kind->not_before_us = clock_now_us() + pool_back_off_us(kind->failures);
    set_reason(kind, reason);
    log_info("engine", "%s: its nursery ended: %s", kind->name, reason);
    house->over = true;
    house->retired = false; /* it must not go before the last of its cells was looked at */
    leave_kind(house);
    engine->changed = true;
    list_each(at, &house->cells) {
        struct cell *cell = link_owner(at, struct cell, link);

        if (cell->state != CELL_ORDERED && cell->state != CELL_LEASED)
            cell_end(cell);
    }
    end_nursery(house);
    list_each(at, &house->cells) {
        struct cell *cell = link_owner(at, struct cell, link);

        if (cell->state == CELL_ORDERED)
            cell_abandon(cell);
    }
    if (!kind->house && !kind->successor)
        leases_go_cold(kind, reason);
    house_retire(house);
}

void house_failed(struct house *house, const char *reason)
{
    struct kind *kind = house->kind;

    set_reason(kind, reason);
    if (++kind->losses % MANY_LOST == 0 && !house->retired)
        house_end(house, reason);
}

static void became_ready(struct house *house)
{
    struct kind *kind = house->kind;
    struct house *before = kind->house;

    log_info("engine", "%s: its nursery is ready after %llu us", kind->name,
             (unsigned long long)(clock_now_us() - house->started_us));
    kind->engine->changed = true;
    if (kind->successor != house)
        return;
    kind->successor = NULL;
    kind->house = house;
    if (before)
        house_retire(before);
}

/* One word of the nursery's for each time that its socket is readable: the rest makes it readable again. */
static void nursery_spoke(void *context, uint32_t events)
{
    struct house *house = context;
    struct sandbox *box = NULL;
    bool was_ready = house->nursery.ready;
    sbr_error err;
    int r = nursery_hear(&house->nursery, &box, &err);

    (void)events;
    if (r < 0)
        house_end(house, err.message);
    else if (r > 0)
        cell_born(cell_of_box(box));
    else if (house->nursery.ready && !was_ready)
        became_ready(house);
}

static int start(struct kind *kind, struct house **ret, sbr_error *err)
{
    struct engine *engine = kind->engine;
    struct house *house = calloc(1, sizeof(*house));

    if (!house)
        return err_set_oom(err, "engine");
    house->kind = kind;
    house->started_us = clock_now_us();
    link_init(&house->cells);
    if (nursery_start(&house->nursery, kind->plan, &engine->runtime.features, err) < 0) {
        free(house);
        return err->code;
    }
    house->control = (struct watch){ house->nursery.control, nursery_spoke, house };
    if (events_add(&engine->events, &house->control, EPOLLIN) < 0) {
        err_set_errno(err, "engine", "cannot watch a nursery");
        nursery_end(&house->nursery);
        free(house);
        return err->code;
    }
    list_append(&engine->houses, &house->link);
    kind->n_houses++;
    *ret = house;
    return 0;
}

void house_open(struct kind *kind)
{
    struct house **place = kind->house ? &kind->successor : &kind->house;
    sbr_error err;

    if (kind->successor || kind->engine->draining || clock_now_us() < kind->not_before_us)
        return;
    if (start(kind, place, &err) == 0)
        return;
    kind->failures++;
    kind->not_before_us = clock_now_us() + pool_back_off_us(kind->failures);
    set_reason(kind, err.message);
    log_info("engine", "%s: no nursery: %s", kind->name, err.message);
}

void houses_close_all(struct engine *engine)
{
    list_each(at, &engine->houses)
        house_end(link_owner(at, struct house, link), "the engine ends");
}
