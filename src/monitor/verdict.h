/* Observations -> verdict.  Pure: uses the kernel and our own acts, never the output. */
#ifndef MONITOR_VERDICT_H
#define MONITOR_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/result.h"
#include "plan/stage.h"

/* Why we ended the run; the first reason stays. */
enum stop_reason {
    STOP_NONE,
    STOP_TIMEOUT,
    STOP_CPU,
    STOP_MEMORY,
    STOP_OUTPUT,
    STOP_DISK,
    STOP_CANCELLED
};

struct observation {
    enum stage stage; /* sentences name it, and what sets its limits */
    enum stop_reason stop;
    bool reported;   /* init reported how the program ended */
    int wait_status; /* of the program, when it was reported */
    uint64_t oom_kills;
    uint64_t refused_forks;
    bool forks_guessed; /* nothing counts them: only known is that the limit was reached */
    bool disk_full;
    bool inodes_full; /* rather than bytes */
};

/* Fills verdict, exit_code, signal and explanation of the result, and adds the refusals behind
 * limits; result->limits must be set. */
void verdict_decide(const struct observation *seen, sbr_result *result);
/* Adds those refusals alone, whether the program failed because of them or not. */
void verdict_note_limits(const struct observation *seen, sbr_result *result);

#endif
