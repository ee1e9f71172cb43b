/* Time: monotonic, so that a reset of the clock changes no limit. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t clock_now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

/* File times as one number.  A file may have a time that does not fit, such as the year 2446. */
static inline int64_t clock_ns(struct timespec t)
{
    int64_t ns;

    if (__builtin_mul_overflow((int64_t)t.tv_sec, (int64_t)1000000000, &ns) ||
        __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
        return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static inline struct timespec clock_from_ns(int64_t ns)
{
    int64_t rest = ns % 1000000000;

    rest += rest < 0 ? 1000000000 : 0;
    return (struct timespec){ .tv_sec = (ns - rest) / 1000000000, .tv_nsec = rest };
}

#endif
