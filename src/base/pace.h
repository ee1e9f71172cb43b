/* Bounds the processor time that a stranger can make one of our processes use: what he asks for is done later.
 *
 * Debt grows with what was used and shrinks with time.  Beyond `burst_us` it is time to rest. */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdint.h>

struct pace {
    uint64_t share;    /* thousandths of one processor; 0: no bound */
    uint64_t burst_us; /* what may be used at once                  */
    uint64_t debt_us;
    uint64_t at_us; /* of the last look */
};

/* `spent_us` of processor time were used since the last look.  How long to rest now, in microseconds; 0: not at all.
 * A single large debt is not carried on: no rest is longer than three bursts take. */
uint64_t pace_spend(struct pace *pace, uint64_t spent_us, uint64_t now_us);

#endif
