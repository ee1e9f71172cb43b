/* One connection to a host with several addresses, as in RFC 8305: both families in turns, the next
 * address 250 ms after the one before or as soon as that fails, and the first that connects wins.
 *
 *   (1) It dials the addresses as they are given: decide.c has allowed them before.
 *   (2) It dials at most DIAL_AT_ONCE of them at a time; each has ten seconds.
 *   (3) Once `done` is called, nothing of the dial is watched or open any more. */
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
    uint64_t *due_us; /* when any dial needs dial_tick(); only lowered here */
    const struct address *addresses;
    unsigned int n;
    uint16_t port;
    /* The winner is connected and watched for PUMP_EVENTS; the callee takes it with
     * loop_move().  NULL: no address answers.  The callee may free the dial. */
    void (*done)(void *context, struct loop_watch *winner);
    void *context;

    unsigned int next; /* address to dial */
    unsigned int n_open;
    uint64_t next_us;
    struct attempt attempts[DIAL_AT_ONCE];
};

/* Alternates the families, beginning with that of the first; within a family the order stays. */
void dial_interleave(struct address *addresses, unsigned int n);

/* The caller fills the fields above `next`.  May call `done` at once. */
void dial_start(struct dial *dial, uint64_t now_us);
/* Gives up on addresses that do not answer, and dials the next one. */
void dial_tick(struct dial *dial, uint64_t now_us);
/* Closes all attempts; `done` will not be called any more.  A dial that never
 * started is all zero. */
void dial_stop(struct dial *dial);

#endif
