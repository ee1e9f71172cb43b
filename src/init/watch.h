/* Supervision without cgroups: memory and processor time of everything inside, summed from procfs.
 * Weaker than a cgroup (it looks every few milliseconds), so the tier is `reduced`. */
#ifndef INIT_WATCH_H
#define INIT_WATCH_H

#include <stdbool.h>

#include "sandbox/confiner.h"
#include "sandbox/protocol.h"

struct watch {
    bool active;
    uint64_t next_us;
    int proc_fd;
    int scratch_fd;
    uint64_t memory_bytes, cpu_us; /* limits; LIMIT_NONE when there is none */
    uint64_t peak_memory, peak_processes;
    uint64_t cpu_used_us; /* at the last look */
};

void watch_init(struct watch *watch, const struct inside *in);
/* Milliseconds until the next look, for poll; -1 when nothing is watched. */
int watch_interval(const struct watch *watch);
/* True when it is time to look; moves the time on. */
bool watch_is_due(struct watch *watch);
/* Sums up; the limit that was passed, or 0: init then ends the run. */
enum init_limit watch_look(struct watch *watch);
/* Puts what was seen into the final report. */
void watch_report(const struct watch *watch, struct init_report *report);

#endif
