#include "base/loop.h"

uint64_t pace_spend(struct pace *pace, uint64_t spent_us, uint64_t now_us)
{
    uint64_t most = 2 * pace->burst_us, since_us = now_us - pace->at_us, paid = most;

    if (!pace->share)
        return 0;
    /* After a long pause all debt is paid, whatever the product would be. */
    if (since_us < UINT64_MAX / pace->share)
        paid = since_us * pace->share / 1000;
    pace->at_us = now_us;
    pace->debt_us = paid < pace->debt_us ? pace->debt_us - paid : 0;
    pace->debt_us = spent_us < most - pace->debt_us ? pace->debt_us + spent_us : most;
    if (pace->debt_us <= pace->burst_us)
        return 0;
    return (pace->debt_us - pace->burst_us / 2) * 1000 / pace->share;
}
