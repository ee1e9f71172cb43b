/* Bounds the CPU time that an untrusted program can make one of our processes use: what it asks for
 * is done later.  Debt grows with the CPU time used and shrinks with time; beyond `burst_us` the
 * process rests. */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdint.h>

struct pace {
    uint64_t share;    /* thousandths of one CPU; 0: no bound */
    uint64_t burst_us; /* what may be used at once                  */
    uint64_t debt_us;
    uint64_t at_us; /* of the last call */
};

/* `spent_us` of CPU time were used since the last call.  Returns how long to rest now, in
 * microseconds; 0: not at all.  No rest is longer than three bursts take, however large the debt.
 */
uint64_t pace_spend(struct pace *pace, uint64_t spent_us, uint64_t now_us);

#endif
