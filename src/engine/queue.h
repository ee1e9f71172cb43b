/* Decides which run is admitted now, and which is next.
 *
 * The number of run slots is fixed; each run holds one from its admission to its end.  When all are
 * taken, runs wait, in one line per caller.  The callers take turns, so that a caller with a
 * thousand runs delays another with a single run by no more than one turn.
 *
 * Memory is reserved: what the admitted runs may use together stays within a bound.  A run whose
 * turn it is waits until there is enough, and no other one overtakes it.  One that needs more than
 * the bound runs alone.
 *
 * Runs may last for years and are never taken back, so what is left for others has to be left
 * before they ask.  A caller has a part: every one at most `per_caller` slots, and one of several
 * (its tickets have a `share`) that percentage of slots, memory and waiting line, at least one of
 * each.  A single run may need more memory than its caller's part: it is admitted while the caller
 * holds nothing else, takes what others leave, holds up nobody, and never counts for all memory.
 *
 * Pure: no system call, no clock.
 *
 *   (1) A ticket waits only while all slots are taken, or the memory, or its caller's part.
 *   (2) `n_running` is the number of admitted tickets, `memory_running` what they reserve. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define QUEUE_CALLER_SIZE 64

struct queue_caller {
    struct link ring;    /* of callers with waiting tickets, in turn order; alone: none wait */
    struct link known;   /* of all callers that have a ticket */
    struct link waiting; /* tickets, oldest first */
    struct link *walk;   /* of queue_positions */
    uint32_t n_running, n_waiting;
    uint64_t memory_running;
    /* Of the last ticket that had one.  Those without one come from before there were several. */
    uint32_t share;
    char name[QUEUE_CALLER_SIZE];
};

enum ticket_state { TICKET_NONE, TICKET_WAITS, TICKET_ADMITTED };

struct ticket {
    struct link link; /* in its caller's `waiting` */
    struct queue_caller *caller;
    enum ticket_state state;
    uint64_t memory; /* what its run may use at most; set by the client */
    uint32_t share;  /* percent that its caller may hold, as one of several; 0: no bound */
};

struct queue {
    uint32_t slots, depth, per_caller; /* how many may run, wait, and run for one caller */
    uint32_t n_running, n_waiting;
    uint64_t memory;         /* of all runs together; 0: no bound */
    uint64_t memory_running; /* of the admitted ones */
    bool is_short;           /* the ticket whose turn it is waits for memory */
    struct link ring, known; /* of callers */
};

enum queue_answer {
    QUEUE_ADMITTED,
    QUEUE_WAITS,
    QUEUE_FULL,
    QUEUE_PART_FULL, /* the caller's part of the waiting line is */
    QUEUE_NO_MEMORY
};

void queue_init(struct queue *queue, uint32_t slots, uint32_t depth, uint32_t per_caller);

void queue_ticket_init(struct ticket *ticket);
/* For the caller of that name.  The ticket must be in state TICKET_NONE. */
enum queue_answer queue_ask(struct queue *queue, struct ticket *ticket, const char *name);
/* The next ticket, now admitted; NULL: no waiting ticket may run yet. */
struct ticket *queue_next(struct queue *queue);
/* Leaves the queue or frees the slot: call queue_next afterwards.  Ignores TICKET_NONE. */
void queue_leave(struct queue *queue, struct ticket *ticket);

/* Reports to each waiting ticket how many are before it. */
typedef void queue_reporter(void *context, struct ticket *ticket, uint32_t position);
void queue_positions(struct queue *queue, queue_reporter *report, void *context);

#endif
