/* From LEASE to DONE:
 *
 *   LEASE --> run slot free? --no--> QUEUED (or REFUSED) --slot free--> as below
 *                  '--yes--> ready: GRANT | being made: WAITING, then GRANT | COLD
 *                              '--> HOLDING --DONE--> IDLE */
#include <string.h>

#include "base/clock.h"
#include "engine/engine_internal.h"

#define QUIET_US 300       /* most clients with consecutive runs are back by then */
#define WAIT_US 1500000ULL /* for a sandbox; less than the patience of a client (job/warm.c) */

static void refuse(struct client *client, const char *reason)
{
    struct engine_reply reply = reply_of(ENGINE_REFUSED, reason);

    client->engine->n_refused++;
    client->was_answered = true;
    (void)reply_send(client, &reply, NULL, 0);
}

static void go_cold(struct client *client, const char *reason)
{
    struct engine_reply reply = reply_of(ENGINE_COLD, reason);

    client->state = CLIENT_HOLDING;
    client->engine->given_cold++;
    if (client->pool)
        client->pool->given_cold++;
    reply.unknown = client->unknown;
    (void)reply_send(client, &reply, NULL, 0);
}

/* 0: the client has the newest ready sandbox; -1: the client is gone, and it is still ready. */
static int grant(struct client *client, enum engine_grant way)
{
    struct pool *pool = client->pool;
    struct standby *standby = link_owner(pool->ready.next, struct standby, ready);
    struct engine_reply reply = reply_of(ENGINE_GRANT, "");
    int fds[SANDBOX_MAX_GIVEN];
    size_t n;

    client->state = CLIENT_HOLDING;
    reply.way = way;
    if (pool->plan->standby == STANDBY_DRIVER) /* its threads may have worked while it waited */
        cgroup_read(&standby->box.cgroup, &standby->box.before);
    sandbox_give(&standby->box, &reply.handover, fds, &n);
    if (reply_send(client, &reply, fds, n) < 0)
        return -1;
    standby_lease(standby);
    client->standby = standby;
    *(way == ENGINE_READY ? &pool->given_ready : &pool->given_forked) += 1;
    *(way == ENGINE_READY ? &client->engine->given_ready : &client->engine->given_forked) += 1;
    client->engine->changed = true;
    return 0;
}

bool leases_hand_over(struct pool *pool)
{
    struct client *client;

    while (!link_is_alone(&pool->waiting)) {
        client = link_owner(pool->waiting.next, struct client, waiting);
        link_remove(&client->waiting);
        pool->n_waiting--;
        if (grant(client, ENGINE_FORKED) == 0)
            return true;
    }
    return false;
}

static void wait_for_one(struct client *client)
{
    struct pool *pool = client->pool;

    client->state = CLIENT_WAITING;
    client->waits_until_us = clock_now_us() + WAIT_US;
    list_append(&pool->waiting, &client->waiting);
    pool->n_waiting++;
    leases_make(pool);
}

void leases_make(struct pool *pool)
{
    while (pool->n_making < pool->n_waiting)
        if (standby_order(pool) != 0)
            break;
    if (pool->n_waiting && !pool->n_making) /* and nothing would report that one can be made */
        leases_go_cold(pool, "no sandbox can be made ahead at the moment");
}

static const char *why_cold(const struct client *client)
{
    if (client->unknown)
        return "the engine does not know this kind of run yet";
    if (client->declined)
        return "this engine would plan such a run otherwise, or all its pools are in use";
    if (!client->pool)
        return "such a run cannot be prepared ahead";
    return client->pool->reason[0] ? client->pool->reason
                                   : "the engine is getting ready for this kind of run";
}

/* The client is admitted. */
static void serve(struct client *client)
{
    struct pool *pool = client->pool;

    if (!pool) {
        go_cold(client, why_cold(client));
        return;
    }
    if (pool->n_ready && link_is_alone(&pool->waiting)) {
        (void)grant(client, ENGINE_READY);
        return;
    }
    if (!pool->factory) {
        pool_factory_open(pool);
        go_cold(client, why_cold(client));
    } else if (!pool->factory->core.ready) {
        go_cold(client, why_cold(client));
    } else if (pool_size_is_worth_waiting(pool->plan->standby == STANDBY_DRIVER,
                                          pool->n_making > pool->n_waiting)) {
        wait_for_one(client);
    } else {
        go_cold(client, "all prepared sandboxes of this kind are in use");
    }
}

static void stop_waiting(struct client *client, const char *reason)
{
    link_remove(&client->waiting);
    client->pool->n_waiting--;
    go_cold(client, reason);
}

void leases_go_cold(struct pool *pool, const char *reason)
{
    list_each(at, &pool->waiting)
        stop_waiting(link_owner(at, struct client, waiting), reason);
}

uint64_t leases_end_waits(struct engine *engine, uint64_t now_us)
{
    uint64_t next_us = NEVER;

    list_each(at, &engine->pools) {
        struct pool *pool = link_owner(at, struct pool, link);

        list_each(waiting, &pool->waiting) { /* oldest first */
            struct client *client = link_owner(waiting, struct client, waiting);

            if (client->waits_until_us > now_us) {
                next_us = client->waits_until_us < next_us ? client->waits_until_us : next_us;
                break;
            }
            stop_waiting(client, "making a sandbox takes too long");
        }
    }
    return next_us;
}

static void use_pool(struct client *client, struct pool *pool)
{
    client->pool = pool;
    if (!pool)
        return;
    pool->n_users++;
    pool_touch(pool);
    pool_size_arrived(&pool->demand, clock_now_us());
}

/* Finds the requested pool, or adds a new one.  A wrong blueprint counts as none. */
static void find_pool(struct client *client, const struct engine_request *request, int blueprint_fd)
{
    struct pool *pool;
    sbr_error err;

    client->unknown = client->declined = false;
    if (!request->key[0])
        return;
    pool = pool_find(client->engine, request->key);
    if (!pool && blueprint_fd >= 0)
        pool = pool_add(client->engine, request, blueprint_fd, &err);
    client->unknown = !pool && blueprint_fd < 0;
    client->declined = !pool && blueprint_fd >= 0;
    use_pool(client, pool);
}

static void report_position(void *context, struct ticket *ticket, uint32_t position)
{
    struct client *client = link_owner(ticket, struct client, ticket);
    struct engine_reply reply = reply_of(ENGINE_QUEUED, "");

    (void)context;
    if (client->reported_position == position)
        return;
    client->reported_position = position;
    reply.position = position;
    (void)reply_send(client, &reply, NULL, 0);
}

void leases_report_positions(struct engine *engine)
{
    queue_positions(&engine->queue, report_position, NULL);
}

void lease_ask(struct client *client, const struct engine_request *request, int blueprint_fd)
{
    struct engine *engine = client->engine;
    const char *caller = request->caller[0] ? request->caller : client->process;

    if (client->state != CLIENT_IDLE) {
        refuse(client, "a lease is held already; say DONE first");
        return;
    }
    client->ticket.memory =
        request->memory_bytes < engine->queue.memory ? request->memory_bytes : engine->queue.memory;
    client->ticket.share = request->share < engine->share ? request->share : engine->share;
    switch (queue_ask(&engine->queue, &client->ticket, caller)) {
    case QUEUE_ADMITTED:
        find_pool(client, request, blueprint_fd);
        serve(client);
        break;
    case QUEUE_WAITS:
        find_pool(client, request, blueprint_fd);
        client->state = CLIENT_QUEUED;
        report_position(NULL, &client->ticket, engine->queue.n_waiting - 1);
        engine->changed = true;
        break;
    case QUEUE_FULL:
        refuse(client, "the queue is full");
        break;
    case QUEUE_PART_FULL:
        refuse(client, "this caller's part of the queue is full");
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
    struct pool *pool = client->pool;

    if (client->state == CLIENT_WAITING) {
        link_remove(&client->waiting);
        pool->n_waiting--;
    }
    if (client->standby)
        standby_end(client->standby);
    client->standby = NULL;
    client->pool = NULL;
    client->state = CLIENT_IDLE;
    client->reported_position = UINT32_MAX;
    client->was_answered = true;
    client->idle_since_us = clock_now_us();
    if (pool)
        pool->n_users--;
    queue_leave(&engine->queue, &client->ticket);
    engine->changed = true;
    engine->quiet_us = client->idle_since_us + QUIET_US;
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
