#include "engine/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REST 8 /* this part of the memory no single run of one of several callers takes */

void queue_init(struct queue *queue, uint32_t slots, uint32_t depth, uint32_t per_caller)
{
    *queue = (struct queue){ .slots = slots, .depth = depth, .per_caller = per_caller };
    link_init(&queue->ring);
    link_init(&queue->known);
}

void queue_ticket_init(struct ticket *ticket)
{
    *ticket = (struct ticket){ 0 };
    link_init(&ticket->link);
}

static struct queue_caller *find_caller(struct queue *queue, const char *name)
{
    list_each(at, &queue->known) {
        struct queue_caller *caller = link_owner(at, struct queue_caller, known);

        if (!strcmp(caller->name, name))
            return caller;
    }
    return NULL;
}

static struct queue_caller *get_caller(struct queue *queue, const char *name)
{
    struct queue_caller *caller = find_caller(queue, name);

    if (caller)
        return caller;
    caller = calloc(1, sizeof(*caller));
    if (!caller)
        return NULL;
    snprintf(caller->name, sizeof(caller->name), "%s", name);
    link_init(&caller->ring);
    link_init(&caller->waiting);
    link_init(&caller->known);
    list_append(&queue->known, &caller->known);
    return caller;
}

static void forget_unused(struct queue_caller *caller)
{
    if (caller->n_running || caller->n_waiting)
        return;
    link_remove(&caller->known);
    link_remove(&caller->ring);
    free(caller);
}

/* What a caller with this share may have of so many; at least one, if there are any. */
static uint64_t part_of(uint64_t all, uint32_t share)
{
    uint64_t part = share && share < 100 ? all / 100 * share + all % 100 * share / 100 : all;

    return part || !all ? part : 1;
}

static bool is_over_part(const struct queue *queue, const struct ticket *ticket)
{
    uint32_t share = ticket->caller->share;

    return share && ticket->memory > part_of(queue->memory, share);
}

/* Its caller's part has room for it. */
static bool may_run(const struct queue *queue, const struct ticket *ticket)
{
    const struct queue_caller *caller = ticket->caller;
    uint64_t slots = part_of(queue->slots, caller->share);
    uint64_t memory = part_of(queue->memory, caller->share);

    if (queue->n_running >= queue->slots || caller->n_running >= slots ||
        caller->n_running >= queue->per_caller)
        return false;
    return !queue->memory || !caller->share || !caller->n_running ||
           (caller->memory_running <= memory && ticket->memory <= memory - caller->memory_running);
}

static bool has_memory(const struct queue *queue, const struct ticket *ticket)
{
    return !queue->memory || !queue->n_running ||
           (queue->memory_running <= queue->memory &&
            ticket->memory <= queue->memory - queue->memory_running);
}

/* It is next, lacks nothing but memory, and must not be overtaken.  One that wants more than its
 * caller's part has no such right. */
static bool holds_up(const struct queue *queue, const struct ticket *ticket)
{
    return !has_memory(queue, ticket) && !is_over_part(queue, ticket);
}

static void admit(struct queue *queue, struct ticket *ticket)
{
    ticket->state = TICKET_ADMITTED;
    ticket->caller->n_running++;
    ticket->caller->memory_running += ticket->memory;
    queue->n_running++;
    queue->memory_running += ticket->memory;
}

/* A run of one of several callers never reserves all memory: the others would have none until its
 * end. */
static void set_part(const struct queue *queue, struct queue_caller *caller, struct ticket *ticket)
{
    uint64_t most = queue->memory - queue->memory / REST;

    ticket->caller = caller;
    if (ticket->share)
        caller->share = ticket->share;
    if (caller->share && caller->share < 100 && queue->memory && ticket->memory > most)
        ticket->memory = most;
}

static enum queue_answer find_room(const struct queue *queue, const struct queue_caller *caller)
{
    if (queue->n_waiting >= queue->depth)
        return QUEUE_FULL;
    return caller->n_waiting < part_of(queue->depth, caller->share) ? QUEUE_WAITS : QUEUE_PART_FULL;
}

enum queue_answer queue_ask(struct queue *queue, struct ticket *ticket, const char *name)
{
    char known[QUEUE_CALLER_SIZE];
    struct queue_caller *caller;
    enum queue_answer answer;

    snprintf(known, sizeof(known), "%s", name);
    caller = get_caller(queue, known);
    if (!caller)
        return QUEUE_NO_MEMORY;
    set_part(queue, caller, ticket);
    if (!caller->n_waiting && !queue->is_short && may_run(queue, ticket) &&
        has_memory(queue, ticket)) {
        admit(queue, ticket);
        return QUEUE_ADMITTED;
    }
    answer = find_room(queue, caller);
    if (answer != QUEUE_WAITS) {
        ticket->caller = NULL;
        forget_unused(caller);
        return answer;
    }
    queue->is_short |= may_run(queue, ticket) && holds_up(queue, ticket);
    ticket->state = TICKET_WAITS;
    list_append(&caller->waiting, &ticket->link);
    if (link_is_alone(&caller->ring))
        list_append(&queue->ring, &caller->ring);
    caller->n_waiting++;
    queue->n_waiting++;
    return QUEUE_WAITS;
}

/* The ticket waits no longer; its caller stays known. */
static void take_out(struct queue *queue, struct ticket *ticket)
{
    struct queue_caller *caller = ticket->caller;

    link_remove(&ticket->link);
    ticket->state = TICKET_NONE;
    queue->n_waiting--;
    if (--caller->n_waiting == 0)
        link_remove(&caller->ring);
}

struct ticket *queue_next(struct queue *queue)
{
    queue->is_short = false;
    list_each(at, &queue->ring) {
        struct queue_caller *caller = link_owner(at, struct queue_caller, ring);
        struct ticket *ticket = link_owner(caller->waiting.next, struct ticket, link);

        if (!may_run(queue, ticket))
            continue;
        queue->is_short = holds_up(queue, ticket);
        if (queue->is_short)
            return NULL;
        if (!has_memory(queue, ticket))
            continue;
        take_out(queue, ticket);
        if (caller->n_waiting) { /* its next turn comes last */
            link_remove(&caller->ring);
            list_append(&queue->ring, &caller->ring);
        }
        admit(queue, ticket);
        return ticket;
    }
    return NULL;
}

void queue_leave(struct queue *queue, struct ticket *ticket)
{
    struct queue_caller *caller = ticket->caller;

    if (ticket->state == TICKET_NONE)
        return;
    if (ticket->state == TICKET_WAITS) {
        take_out(queue, ticket);
    } else {
        caller->n_running--;
        caller->memory_running -= ticket->memory;
        queue->n_running--;
        queue->memory_running -= ticket->memory;
    }
    ticket->state = TICKET_NONE;
    ticket->caller = NULL;
    forget_unused(caller);
}

/* In the order of turns, as if no caller reaches its own limit. */
void queue_positions(struct queue *queue, queue_reporter *report, void *context)
{
    uint32_t position = 0;

    list_each(at, &queue->ring) {
        struct queue_caller *caller = link_owner(at, struct queue_caller, ring);

        caller->walk = caller->waiting.next;
    }
    while (position < queue->n_waiting) {
        list_each(at, &queue->ring) {
            struct queue_caller *caller = link_owner(at, struct queue_caller, ring);

            if (caller->walk == &caller->waiting)
                continue;
            report(context, link_owner(caller->walk, struct ticket, link), position++);
            caller->walk = caller->walk->next;
        }
    }
}
