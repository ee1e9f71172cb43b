/* From LEASE to DONE:
 *
 *   LEASE --> a place? --no--> QUEUED (or REFUSED) --a place is free--> v
 *                \--yes--> a parked one: GRANT | one is made: WAITING, then GRANT | COLD --> HOLDING --DONE--> IDLE */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine_internal.h"

#define QUIET_US 300 /* most that run one thing after the other are back by then */

static struct engine_reply reply_of(uint32_t answer)
{
    return (struct engine_reply){ .version = ENGINE_VERSION, .answer = answer };
}

static void refuse(struct client *client, const char *reason)
{
    struct engine_reply reply = reply_of(ENGINE_REFUSED);

    client->engine->n_refused++;
    snprintf(reply.reason, sizeof(reply.reason), "%s", reason);
    (void)client_send(client, &reply, NULL, 0);
}

static void go_cold(struct client *client, const char *reason)
{
    struct engine_reply reply = reply_of(ENGINE_COLD);

    client->state = CLIENT_HOLDING;
    client->engine->given_cold++;
    if (client->kind)
        client->kind->given_cold++;
    reply.unknown = client->unknown;
    snprintf(reply.reason, sizeof(reply.reason), "%s", reason);
    (void)client_send(client, &reply, NULL, 0);
}

/* 0: the newest of the parked ones is the client's; otherwise he is gone, and it is still parked. */
static int grant(struct client *client, enum engine_way way)
{
    struct kind *kind = client->kind;
    struct cell *cell = link_owner(kind->parked.next, struct cell, parked);
    struct engine_reply reply = reply_of(ENGINE_GRANT);
    int fds[SANDBOX_MAX_GIVEN];
    size_t n;

    client->state = CLIENT_HOLDING;
    reply.way = way;
    if (kind->plan->park == PARK_DRIVER) /* its threads may have worked on while it waited */
        cgroup_read(&cell->box.cgroup, &cell->box.before);
    sandbox_give(&cell->box, &reply.handover, fds, &n);
    if (client_send(client, &reply, fds, n) < 0)
        return -1;
    cell_lease(cell);
    client->cell = cell;
    *(way == ENGINE_PARKED ? &kind->given_parked : &kind->given_forked) += 1;
    *(way == ENGINE_PARKED ? &client->engine->given_parked : &client->engine->given_forked) += 1;
    client->engine->changed = true;
    return 0;
}

bool lease_hand_over(struct kind *kind)
{
    struct client *client;

    while (!link_is_alone(&kind->waiting)) {
        client = link_owner(kind->waiting.next, struct client, waiting);
        link_remove(&client->waiting);
        kind->n_waiting--;
        if (grant(client, ENGINE_FORKED) == 0)
            return true;
    }
    return false;
}

static void wait_for_one(struct client *client)
{
    struct kind *kind = client->kind;

    client->state = CLIENT_WAITING;
    list_append(&kind->waiting, &client->waiting);
    kind->n_waiting++;
    leases_make(kind);
}

void leases_make(struct kind *kind)
{
    while (kind->n_making < kind->n_waiting)
        if (cell_order(kind) != 0)
            break;
    if (kind->n_waiting && !kind->n_making && !kind->house)
        leases_go_cold(kind, "no sandbox can be made ahead at the moment");
}

static const char *why_cold(const struct client *client)
{
    if (client->unknown)
        return "the engine does not know this kind of run yet";
    if (client->declined)
        return "this engine would plan such a run otherwise, or all its kinds are in use";
    if (!client->kind)
        return "this run has no parked form";
    return client->kind->reason[0] ? client->kind->reason
                                   : "the engine is getting ready for this kind of run";
}

/* The client has a place. */
static void serve(struct client *client)
{
    struct kind *kind = client->kind;

    if (!kind) {
        go_cold(client, why_cold(client));
        return;
    }
    if (kind->n_parked && link_is_alone(&kind->waiting)) {
        (void)grant(client, ENGINE_PARKED);
        return;
    }
    if (!kind->house) {
        house_open(kind);
        go_cold(client, why_cold(client));
    } else if (!kind->house->nursery.ready) {
        go_cold(client, why_cold(client));
    } else if (pool_is_worth_waiting(kind->plan->park == PARK_DRIVER,
                                     kind->n_making > kind->n_waiting)) {
        wait_for_one(client);
    } else {
        go_cold(client, "all parked sandboxes of this kind are in use");
    }
}

void leases_go_cold(struct kind *kind, const char *reason)
{
    list_each(at, &kind->waiting) {
        struct client *client = link_owner(at, struct client, waiting);

        link_remove(&client->waiting);
        kind->n_waiting--;
        go_cold(client, reason);
    }
}

static void use_kind(struct client *client, struct kind *kind)
{
    client->kind = kind;
    if (!kind)
        return;
    kind->n_users++;
    kind_touch(kind);
    pool_arrived(&kind->demand, clock_now_us());
}

/* The template that is asked for, which may be a new one.  A wrong one is as good as none. */
static void find_kind(struct client *client, const struct engine_request *request, int template_fd)
{
    struct kind *kind;
    sbr_error err;

    client->unknown = client->declined = false;
    if (!request->key[0])
        return;
    kind = kind_find(client->engine, request->key);
    if (!kind && template_fd >= 0)
        kind = kind_add(client->engine, request, template_fd, &err);
    client->unknown = !kind && template_fd < 0;
    client->declined = !kind && template_fd >= 0;
    use_kind(client, kind);
}

static void tell_position(void *context, struct ticket *ticket, uint32_t position)
{
    struct client *client = link_owner(ticket, struct client, ticket);
    struct engine_reply reply = reply_of(ENGINE_QUEUED);

    (void)context;
    if (client->told_position == position)
        return;
    client->told_position = position;
    reply.position = position;
    (void)client_send(client, &reply, NULL, 0);
}

void leases_tell_positions(struct engine *engine)
{
    queue_positions(&engine->queue, tell_position, NULL);
}

void lease_ask(struct client *client, const struct engine_request *request, int template_fd)
{
    struct engine *engine = client->engine;
    const char *caller = request->caller[0] ? request->caller : client->process;

    if (client->state != CLIENT_IDLE) {
        refuse(client, "a lease is held already; say DONE first");
        return;
    }
    if (engine->draining) {
        refuse(client, "the engine is about to end");
        return;
    }
    switch (queue_ask(&engine->queue, &client->ticket, caller)) {
    case QUEUE_ADMITTED:
        find_kind(client, request, template_fd);
        serve(client);
        break;
    case QUEUE_WAITS:
        find_kind(client, request, template_fd);
        client->state = CLIENT_QUEUED;
        tell_position(NULL, &client->ticket, engine->queue.n_waiting - 1);
        engine->changed = true;
        break;
    case QUEUE_FULL:
        refuse(client, "the queue is full");
        break;
    case QUEUE_NO_MEMORY:
        refuse(client, "the engine has no memory left");
        break;
    }
}

void leases_admit(struct engine *engine)
{
    struct ticket *ticket;

    while ((ticket = queue_next(&engine->queue)))
        serve(link_owner(ticket, struct client, ticket));
}

void lease_end(struct client *client)
{
    struct engine *engine = client->engine;
    struct kind *kind = client->kind;

    if (client->state == CLIENT_WAITING) {
        link_remove(&client->waiting);
        kind->n_waiting--;
    }
    if (client->cell)
        cell_end(client->cell);
    client->cell = NULL;
    client->kind = NULL;
    client->state = CLIENT_IDLE;
    client->told_position = UINT32_MAX;
    if (kind)
        kind->n_users--;
    queue_leave(&engine->queue, &client->ticket);
    engine->changed = true;
    engine->quiet_us = clock_now_us() + QUIET_US;
}

void leases_refuse_queued(struct engine *engine)
{
    list_each(at, &engine->clients) {
        struct client *client = link_owner(at, struct client, link);

        if (client->state != CLIENT_QUEUED)
            continue;
        lease_end(client);
        refuse(client, "the engine is about to end");
    }
}
