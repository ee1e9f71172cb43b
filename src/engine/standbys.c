/* Sandboxes, one by one:
 *
 *   ORDERED --born--> BORN --parked--> PARKED --granted--> LEASED --done or gone--> ENDING --dead--> nest is dirty
 *      \______________ dies, fails or is not wanted any more: ENDING ______________/ */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "engine/engine_internal.h"

#define YOUNG_US 10000000ULL
#define MEASURE_EVERY 32 /* the memory of a parked one */

static struct engine *engine_of(const struct cell *cell)
{
    return cell->house->kind->engine;
}

/* Nothing in it is alive. */
static void finish(struct cell *cell)
{
    struct engine *engine = engine_of(cell);
    struct house *house = cell->house;

    events_remove(&engine->events, &cell->control);
    events_remove(&engine->events, &cell->death);
    cell_stop_answering(cell);
    if (!cell->given_away) {
        sandbox_end(&cell->box);
        sandbox_done(&cell->box);
    }
    ids_release(&cell->ids);
    scope_close_fd(&cell->pidfd);
    nests_put(engine, cell->nest);
    link_remove(&cell->link);
    events_bury(&engine->events, &cell->grave);
    engine->changed = true;
    house_close_unused(house);
}

/* Out of the numbers of its state. */
static void leave_state(struct cell *cell)
{
    struct kind *kind = cell->house->kind;

    switch (cell->state) {
    case CELL_ORDERED:
    case CELL_BORN:
        kind->n_making--;
        engine_of(cell)->n_making--;
        cell->house->stock--;
        break;
    case CELL_PARKED:
        link_remove(&cell->parked);
        kind->n_parked--;
        cell->house->stock--;
        break;
    case CELL_LEASED:
        kind->n_leased--;
        break;
    case CELL_ENDING:
        break;
    }
}

static void kill_all_in(struct cell *cell)
{
    if (!cell->given_away)
        sandbox_kill(&cell->box);
    else
        syscall(SYS_pidfd_send_signal, cell->pidfd, SIGKILL, NULL, 0);
}

void cell_end(struct cell *cell)
{
    if (cell->state == CELL_ORDERED) { /* it has to be born first */
        cell->unwanted = true;
        return;
    }
    if (cell->state == CELL_ENDING)
        return;
    leave_state(cell);
    cell->state = CELL_ENDING;
    events_remove(&engine_of(cell)->events, &cell->control);
    cell_stop_answering(cell);
    if (cell->dead) {
        finish(cell);
        return;
    }
    kill_all_in(cell);
}

void cell_abandon(struct cell *cell)
{
    leave_state(cell);
    cell->state = CELL_ENDING;
    finish(cell);
}

void cell_lease(struct cell *cell)
{
    struct kind *kind = cell->house->kind;

    cell_stop_answering(cell);
    leave_state(cell);
    cell->state = CELL_LEASED;
    kind->n_leased++;
    kind->failures = kind->losses = 0;
    kind->reason[0] = '\0';
    cell->pidfd = take_fd(cell->box.init.pidfd);
    cell->ids = cell->box.ids;
    cell->box.ids.lock_fd = -1;
    sandbox_done(&cell->box);
    cell->given_away = true;
}

/* One that was not given away yet: why it is no more. */
static void lost(struct cell *cell, const char *reason)
{
    struct house *house = cell->house;
    struct kind *kind = house->kind;
    bool young = clock_now_us() - cell->ordered_us < YOUNG_US;

    kind->died++;
    kind->engine->n_died++;
    log_info("engine", "%s: a sandbox was lost: %s", kind->name, reason);
    cell_end(cell);
    if (young)
        house_failed(house, reason);
}

/* Its init is dead, and with it all that was inside. */
static void death_came(void *context, uint32_t events)
{
    struct cell *cell = context;

    (void)events;
    events_remove(&engine_of(cell)->events, &cell->death);
    cell->dead = true;
    if (cell->state == CELL_ENDING) {
        finish(cell);
    } else if (cell->state != CELL_LEASED) {
        sbr_error err;

        (void)sandbox_failure(&cell->box, &err);
        lost(cell, cell->state == CELL_PARKED ? "it died while it was parked" : err.message);
    }
}

static void measure(struct cell *cell)
{
    struct cgroup_usage usage;
    struct kind *kind = cell->house->kind;

    if (kind->made % MEASURE_EVERY != 1)
        return;
    cgroup_read(&cell->nest->nest.cgroup, &usage);
    if (usage.peak_memory_bytes)
        kind->demand.bytes = usage.peak_memory_bytes;
}

/* One from a new nursery takes the place of one from the nursery before. */
static void make_room(struct kind *kind)
{
    struct cell *oldest = link_owner(kind->parked.prev, struct cell, parked);

    if (kind->n_parked > kind->target && oldest->house->retired)
        cell_end(oldest);
}

static void parked(struct cell *cell)
{
    struct kind *kind = cell->house->kind;

    events_remove(&kind->engine->events, &cell->control);
    leave_state(cell);
    cell->state = CELL_PARKED;
    list_prepend(&kind->parked, &cell->parked);
    kind->n_parked++;
    cell->house->stock++;
    kind->made++;
    kind->engine->n_made++;
    kind->engine->changed = true;
    pool_made(&kind->demand, clock_now_us() - cell->ordered_us);
    if (lease_hand_over(kind))
        return;
    measure(cell);
    make_room(kind);
}

static void control_spoke(void *context, uint32_t events)
{
    struct cell *cell = context;
    sbr_error err;
    int r = nursery_box_news(&cell->house->nursery, &cell->box, &err);

    (void)events;
    if (r < 0)
        lost(cell, err.message);
    else if (r > 0)
        parked(cell);
    else
        cell_answer(cell);
}

static int watch_cell(struct cell *cell)
{
    struct engine *engine = engine_of(cell);

    cell->control = (struct watch){ cell->box.control, control_spoke, cell };
    cell->death = (struct watch){ cell->box.init.pidfd, death_came, cell };
    return events_add(&engine->events, &cell->control, EPOLLIN) < 0 ||
                   events_add(&engine->events, &cell->death, EPOLLIN) < 0
               ? -1
               : 0;
}

void cell_born(struct cell *cell)
{
    cell->state = CELL_BORN;
    if (watch_cell(cell) < 0) { /* then nobody would hear of its end: it is awaited */
        lost(cell, "it cannot be watched");
        finish(cell);
    } else if (cell->unwanted) {
        cell_end(cell);
    }
}

struct cell *cell_of_box(struct sandbox *box)
{
    return link_owner(box, struct cell, box);
}

int cell_order(struct kind *kind)
{
    struct engine *engine = kind->engine;
    struct house *house = kind->house;
    struct cell *cell;
    sbr_error err;

    if (!kind_can_make(kind))
        return SBR_E_BUSY;
    cell = calloc(1, sizeof(*cell));
    if (!cell)
        return SBR_E_NO_MEMORY;
    cell->nest = nests_take(engine, kind->plan, &err);
    if (!cell->nest) {
        free(cell);
        log_info("engine", "%s: %s", kind->name, err.message);
        return err.code;
    }
    cell->house = house;
    cell->pidfd = cell->ids.lock_fd = -1;
    cell->ordered_us = clock_now_us();
    link_init(&cell->parked);
    link_init(&cell->link);
    if (nursery_make(&house->nursery, &cell->nest->nest, &cell->box, &err) < 0) {
        nests_put(engine, cell->nest);
        free(cell);
        house_failed(house, err.message);
        return err.code;
    }
    list_append(&house->cells, &cell->link);
    house->made++;
    house->stock++;
    kind->n_making++;
    engine->n_making++;
    return 0;
}
