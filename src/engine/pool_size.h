/* How many sandboxes are kept ready of each template, and which factories have served long enough.
 *
 * Pure: no system call; the time is an argument, in microseconds of one clock. */
#ifndef ENGINE_POOL_SIZE_H
#define ENGINE_POOL_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_BUCKETS 128
#define POOL_BUCKET_US 100000ULL
#define POOL_WINDOW_US (POOL_BUCKETS * POOL_BUCKET_US)

struct pool_limits {
    uint32_t least, most;  /* parked of one template that is in use       */
    uint32_t total;        /* parked of all                               */
    uint64_t memory_bytes; /* of all that is parked                       */
    uint64_t idle_us;      /* a template that nobody wanted for so long has none parked */
};

/* What is known of one template. */
struct pool_demand {
    uint32_t counts[POOL_BUCKETS]; /* arrivals in each bucket of the window, as a ring */
    uint64_t newest;               /* number of the bucket that `now` was in           */
    uint64_t last_us;              /* when the last one arrived; 0: none did           */
    uint64_t make_us;              /* how long one takes, lately; 0: not known yet     */
    uint64_t bytes;                /* that a parked one takes                          */
    bool pinned;                   /* kept ready though nobody wants it                */
};

void pool_size_arrived(struct pool_demand *demand, uint64_t now_us);
void pool_size_made(struct pool_demand *demand, uint64_t took_us);

/* How many should be ready: what arrives while one is made, with as much again in reserve, and what arrived at once
 * lately; within the limits of one template. */
uint32_t pool_size_wanted(const struct pool_demand *demand, const struct pool_limits *limits,
                          uint64_t now_us);

struct pool_claim {
    uint32_t wanted;
    uint64_t bytes;  /* of one */
    uint32_t target; /* the answer */
};
/* Shares memory and number among templates, which come most recently used first: each gets its least, as far as it goes,
 * then each the rest of what it wants. */
void pool_size_share(struct pool_claim *claims, size_t n, const struct pool_limits *limits);

/* Whether stock is so low that it is refilled while runs go on, and not after them. */
bool pool_size_is_low(uint32_t stock, uint32_t target);

/* Whether a run that finds nothing parked waits for one that is made, rather than being started cold.  `boots`: making
 * one includes the start of a runtime, as starting cold does.  `unclaimed`: are being made, and nobody waits for them. */
bool pool_size_is_worth_waiting(bool boots, uint32_t unclaimed);

#define POOL_RECYCLE_MADE 20000u
#define POOL_RECYCLE_US (20 * 60 * 1000000ULL)
/* Whether another nursery takes its place: a zygote's children share its layout of addresses. */
bool pool_size_is_worn(uint64_t made, uint64_t age_us);

/* How long nothing is tried after so many failures in a row. */
uint64_t pool_size_back_off_us(uint32_t failures);

#endif
