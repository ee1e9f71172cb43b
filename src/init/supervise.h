/* Supervision without cgroups: memory and processor time of everything inside, summed from procfs,
 * and the files of a run that has no file system of its own.  Weaker than a cgroup (it looks every
 * few milliseconds), so the tier is `reduced`. */
#ifndef INIT_SUPERVISE_H
#define INIT_SUPERVISE_H

#include <stdbool.h>

#include "confine/confiner.h"
#include "init/disk_usage.h"
#include "wire/control.h"

struct supervise {
    bool active;
    bool supervises; /* processes and memory, too */
    struct disk_usage disk_usage;
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
    bool one_just_ended;    /* see supervise_last */
};

void supervise_init(struct supervise *supervise, const struct inside *in);
/* Milliseconds until the next look, for poll; -1 when nothing is watched. */
int supervise_interval(const struct supervise *supervise);
/* True when it is time to look. */
bool supervise_is_due(const struct supervise *supervise);
/* Sums up; the limit that was passed, or 0: init then ends the run. */
enum init_limit supervise_look(struct supervise *supervise);
/* Once more at the end, when nothing can be done about it any more. */
void supervise_last(struct supervise *supervise, bool program_ended);
/* Puts what was seen into the final report. */
void supervise_report(const struct supervise *supervise, struct init_report *report);

#endif
