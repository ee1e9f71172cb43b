/* One connection to a host that has several addresses, as RFC 8305 does it: both families in turns, the next address
 * 250 ms after the one before or as soon as that fails, and the first that connects wins.
 *
 *   (1) The addresses are dialled as they are given: they were decided on before.
 *   (2) At most DIAL_AT_ONCE of them are being dialled; each has ten seconds.
 *   (3) Once `done` was called nothing of the dial is watched or open any more. */
#ifndef EGRESS_DIAL_H
#define EGRESS_DIAL_H

#include "base/loop.h"
#include "model/address.h"

#define DIAL_AT_ONCE 4
#define DIAL_NEXT_US 250000
#define DIAL_GIVE_UP_US 10000000

struct attempt {
    struct dial *dial;
    struct loop_watch watch; /* fd -1: free */
    uint64_t give_up_us;
};

struct dial {
    struct loop *events;
    uint64_t
        *due_us; /* when dial_tick() is wanted next, of all dials: lowered here, never raised */
    const struct address *addresses;
    unsigned int n;
    uint16_t port;
    /* The winner is connected and watched for everything, edge-triggered; the callee takes it with events_move().
     * NULL: no address answers.  The dial may be freed in it. */
    void (*done)(void *context, struct loop_watch *winner);
    void *context;

    unsigned int next; /* address to dial */
    unsigned int n_open;
    uint64_t next_us;
    struct attempt attempts[DIAL_AT_ONCE];
};

/* Puts the families in turns, beginning with that of the first; within a family the order stays. */
void dial_interleave(struct address *addresses, unsigned int n);

/* The fields above `next` are the caller's to fill.  May call `done` at once. */
void dial_start(struct dial *dial, uint64_t now_us);
/* Gives up on addresses that do not answer, and goes on to the next one. */
void dial_tick(struct dial *dial, uint64_t now_us);
/* Closes what is under way; `done` will not be called any more.  A dial that never started is all zero. */
void dial_stop(struct dial *dial);

#endif
