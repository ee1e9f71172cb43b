/* Who may run now, and who is next.
 *
 * There are so many places; each run holds one from its admission to its end.  When all are taken, runs wait, in a row
 * of their own for each caller; the callers take turns, so that one with a thousand runs does not keep another with a
 * single one waiting for more than a turn.  A caller may be limited to fewer places than there are.
 *
 * Pure: no system call, no clock.
 *
 *   (1) A ticket waits only while all places are taken, or all those of its caller.
 *   (2) `running` is the number of tickets that are admitted. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define QUEUE_CALLER_SIZE 64

struct queue_caller {
    struct link ring;  /* of all that wait, in the order of their turns; alone: nobody waits here */
    struct link known; /* of all callers that have a ticket */
    struct link waiting; /* tickets, oldest first */
    struct link *walk;   /* of queue_positions */
    uint32_t n_running, n_waiting;
    char name[QUEUE_CALLER_SIZE];
};

enum ticket_state { TICKET_NONE, TICKET_WAITS, TICKET_ADMITTED };

struct ticket {
    struct link link; /* in its caller's `waiting` */
    struct queue_caller *caller;
    enum ticket_state state;
};

struct queue {
    uint32_t slots, depth, per_caller; /* how many may run, may wait, may run for one caller */
    uint32_t n_running, n_waiting;
    struct link ring, known; /* of callers */
};

enum queue_answer { QUEUE_ADMITTED, QUEUE_WAITS, QUEUE_FULL, QUEUE_NO_MEMORY };

void queue_init(struct queue *queue, uint32_t slots, uint32_t depth, uint32_t per_caller);

void queue_ticket_init(struct ticket *ticket);
/* For the caller of that name.  `ticket` has none of the queue's states yet. */
enum queue_answer queue_ask(struct queue *queue, struct ticket *ticket, const char *name);
/* The one whose turn it is, now admitted; NULL: nobody who waits may run yet. */
struct ticket *queue_next(struct queue *queue);
/* Out of the queue, or off its place: call queue_next afterwards.  Nothing happens without a state. */
void queue_leave(struct queue *queue, struct ticket *ticket);

/* Tells each one that waits how many are before it. */
typedef void queue_teller(void *context, struct ticket *ticket, uint32_t position);
void queue_positions(struct queue *queue, queue_teller *tell, void *context);

#endif
