#include "engine/pool_size.h"

#define MAKE_WEIGHT 8            /* a new value counts one eighth */
#define DEAR_BYTES (16ULL << 20) /* for larger sandboxes, half of `least` is enough */
#define FIRST_BACK_OFF_US 500000ULL
#define LONGEST_BACK_OFF_US (120 * 1000000ULL)

/* Clears the buckets that have left the window. */
static void advance(struct pool_demand *demand, uint64_t bucket)
{
    uint64_t steps = bucket - demand->newest;

    if (bucket <= demand->newest)
        return;
    for (uint64_t i = 1; i <= steps && i <= POOL_BUCKETS; i++)
        demand->counts[(demand->newest + i) % POOL_BUCKETS] = 0;
    demand->newest = bucket;
}

void pool_size_arrived(struct pool_demand *demand, uint64_t now_us)
{
    advance(demand, now_us / POOL_BUCKET_US);
    demand->counts[demand->newest % POOL_BUCKETS]++;
    demand->last_us = now_us;
}

void pool_size_made(struct pool_demand *demand, uint64_t took_us)
{
    uint64_t before = demand->make_us;

    demand->make_us = before ? (before * (MAKE_WEIGHT - 1) + took_us) / MAKE_WEIGHT : took_us;
    demand->make_us += demand->make_us == 0; /* 0 means unknown */
}

/* Arrivals in the window, and the most of them in one bucket. */
static void look_back(const struct pool_demand *demand, uint64_t now_us, uint64_t *ret_sum,
                      uint64_t *ret_most)
{
    uint64_t bucket = now_us / POOL_BUCKET_US;
    uint64_t gone = bucket > demand->newest ? bucket - demand->newest : 0;

    *ret_sum = *ret_most = 0;
    for (uint64_t i = 0; gone + i < POOL_BUCKETS && i <= demand->newest; i++) {
        uint64_t count = demand->counts[(demand->newest - i) % POOL_BUCKETS];

        *ret_sum += count;
        *ret_most = count > *ret_most ? count : *ret_most;
    }
}

static uint32_t least_of(uint64_t bytes, const struct pool_limits *limits)
{
    return bytes > DEAR_BYTES ? (limits->least + 1) / 2 : limits->least;
}

uint32_t pool_size_wanted(const struct pool_demand *demand, const struct pool_limits *limits,
                          uint64_t now_us)
{
    uint64_t least = least_of(demand->bytes, limits), sum, at_once, wanted;

    if (!demand->pinned && (!demand->last_us || now_us - demand->last_us >= limits->idle_us))
        return 0;
    look_back(demand, now_us, &sum, &at_once);
    /* make_us is in whole microseconds: this cannot overflow before it stands for years. */
    wanted = (2 * sum * demand->make_us + POOL_WINDOW_US - 1) / POOL_WINDOW_US;
    wanted = at_once > wanted ? at_once : wanted;
    wanted = least > wanted ? least : wanted;
    return (uint32_t)(wanted > limits->most ? limits->most : wanted);
}

/* Gives one claim up to `more` of what is left. */
static void give(struct pool_claim *claim, uint64_t more, uint64_t *bytes_left, uint64_t *left)
{
    if (claim->bytes && more > *bytes_left / claim->bytes)
        more = *bytes_left / claim->bytes;
    more = more > *left ? *left : more;
    claim->target += (uint32_t)more;
    *bytes_left -= more * claim->bytes;
    *left -= more;
}

void pool_size_share(struct pool_claim *claims, size_t n, const struct pool_limits *limits)
{
    uint64_t bytes_left = limits->memory_bytes, left = limits->total;

    for (size_t i = 0; i < n; i++) {
        uint32_t least = least_of(claims[i].bytes, limits);

        claims[i].target = 0;
        give(&claims[i], claims[i].wanted < least ? claims[i].wanted : least, &bytes_left, &left);
    }
    for (size_t i = 0; i < n; i++)
        give(&claims[i], claims[i].wanted - claims[i].target, &bytes_left, &left);
}

bool pool_size_is_low(uint32_t stock, uint32_t target)
{
    return stock < (target + 3) / 4;
}

bool pool_size_is_worth_waiting(bool boots, uint32_t unclaimed)
{
    return !boots || unclaimed > 0;
}

bool pool_size_is_worn(uint64_t made, uint64_t age_us)
{
    return made >= POOL_RECYCLE_MADE || (made > 0 && age_us >= POOL_RECYCLE_US);
}

uint64_t pool_size_back_off_us(uint32_t failures)
{
    uint64_t us = FIRST_BACK_OFF_US;

    while (failures-- > 1 && us < LONGEST_BACK_OFF_US)
        us *= 2;
    return us > LONGEST_BACK_OFF_US ? LONGEST_BACK_OFF_US : us;
}
