/* Supervision without cgroups: memory and processor time of everything inside, summed from procfs,
 * and the files of a run that has no file system of its own.  Weaker than a cgroup (it looks every
 * few milliseconds), so the tier is `reduced`. */
#ifndef INIT_SUPERVISE_H
#define INIT_SUPERVISE_H

#include <stdbool.h>

#include "confine/confiner.h"
#include "init/usage.h"
#include "wire/control.h"

struct watch {
    bool active;
    bool supervises; /* processes and memory, too */
    struct room room;
    uint64_t next_us;
    int proc_fd;
    int scratch_fd;
    pid_t program; /* 0 before it is started */
    const struct plan *plan;
    uint64_t cpu_us; /* limit; LIMIT_NONE when there is none */
    uint64_t peak_memory, peak_processes;
    uint64_t cpu_used_us;   /* at the last look */
    uint64_t file_memory;   /* in memory files, at the last look at files */
    uint64_t next_files_us; /* they are looked at less often */
    uint32_t disk_full;     /* enum disk_full */
    bool one_just_ended;    /* see watch_last */
};

void watch_init(struct watch *watch, const struct inside *in);
/* Milliseconds until the next look, for poll; -1 when nothing is watched. */
int watch_interval(const struct watch *watch);
/* True when it is time to look. */
bool watch_is_due(const struct watch *watch);
/* Sums up; the limit that was passed, or 0: init then ends the run. */
enum init_limit watch_look(struct watch *watch);
/* Once more at the end, when nothing can be done about it any more. */
void watch_last(struct watch *watch, bool program_ended);
/* Puts what was seen into the final report. */
void watch_report(const struct watch *watch, struct init_report *report);

#endif
