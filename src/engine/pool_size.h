/* How many sandboxes each pool keeps ready, and which factories must be replaced.
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
    uint32_t least, most;  /* ready in one pool that is in use */
    uint32_t total;        /* ready in all pools */
    uint64_t memory_bytes; /* of all that are ready */
    uint64_t idle_us;      /* a pool without demand for so long keeps none ready */
};

/* What is known about one pool. */
struct pool_demand {
    uint32_t counts[POOL_BUCKETS]; /* arrivals in each bucket of the window, as a ring */
    uint64_t newest;               /* number of the latest bucket */
    uint64_t last_us;              /* time of the last arrival; 0: none */
    uint64_t make_us;              /* recent time to make one; 0: unknown */
    uint64_t bytes;                /* of one that is ready */
    bool pinned;                   /* kept ready without demand */
};

void pool_size_arrived(struct pool_demand *demand, uint64_t now_us);
void pool_size_made(struct pool_demand *demand, uint64_t took_us);

/* How many should be ready: twice the arrivals while one is made, or the recent peak if that is
 * higher; within the limits of one pool. */
uint32_t pool_size_wanted(const struct pool_demand *demand, const struct pool_limits *limits,
                          uint64_t now_us);

struct pool_claim {
    uint32_t wanted;
    uint64_t bytes;  /* of one */
    uint32_t target; /* the result */
};
/* Shares memory and number among pools, which come most recently used first: each gets its least,
 * as far as that goes, then each gets the rest of what it wants. */
void pool_size_share(struct pool_claim *claims, size_t n, const struct pool_limits *limits);

/* True when the stock is so low that it is refilled during runs, not after them. */
bool pool_size_is_low(uint32_t stock, uint32_t target);

/* True when a run without a ready sandbox should wait for one rather than start cold.  `boots`:
 * making one starts a runtime, as a cold start does.  `unclaimed`: being made for no client yet. */
bool pool_size_is_worth_waiting(bool boots, uint32_t unclaimed);

#define POOL_RECYCLE_MADE 20000u
#define POOL_RECYCLE_US (20 * 60 * 1000000ULL)
/* True when the factory must be replaced: the children of a zygote share its address layout. */
bool pool_size_is_worn(uint64_t made, uint64_t age_us);

/* How long to wait after this many failures in a row. */
uint64_t pool_size_back_off_us(uint32_t failures);

#endif
