/* Supervision without cgroups: memory and CPU time of everything inside, summed up from procfs, and
 * the files of a run that has no file system of its own.  It samples every few milliseconds, so it
 * is weaker than a cgroup and the tier is `reduced`. */
#ifndef INIT_SUPERVISE_H
#define INIT_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "confine/confiner.h"
#include "init/disk_usage.h"
#include "wire/control.h"

struct supervise {
    bool active;
    bool supervises; /* processes and memory too */
    struct disk_usage disk_usage;
    uint64_t next_us;
    int proc_fd;
    int scratch_fd;
    pid_t program; /* 0 before it is started */
    const struct plan *plan;
    uint64_t cpu_us; /* limit, or LIMIT_NONE */
    uint64_t peak_memory, peak_processes;
    uint64_t cpu_used_us;       /* at the last sample                           */
    uint64_t file_memory;       /* in memory files, at the last sample of files */
    uint64_t next_files_us;     /* files are sampled less often                 */
    uint32_t disk_full;         /* enum disk_full                               */
    bool one_just_ended;        /* see supervise_last                           */
    struct init_report *report; /* gets each sample; NULL: none                 */
};

void supervise_init(struct supervise *supervise, const struct inside *in,
                    struct init_report *report);
/* Milliseconds until the next sample, for poll; -1 when nothing is supervised. */
int supervise_interval(const struct supervise *supervise);
/* True when the next sample is due. */
bool supervise_is_due(const struct supervise *supervise);
/* Takes a sample.  Returns the limit that was exceeded, at which init ends the run, or 0. */
enum init_limit supervise_look(struct supervise *supervise);
/* Takes a last sample at the end, for the report only. */
void supervise_last(struct supervise *supervise, bool program_ended);
/* Adds the samples to the final report. */
void supervise_report(const struct supervise *supervise, struct init_report *report);

/* The processes of a run without a pid namespace: init's descendants.  Init is their reaper, so
 * none of them can leave the tree. */
typedef void tree_visit(void *context, pid_t pid);

/* Calls `visit` for every descendant and returns how many there were. */
size_t process_tree_walk(int proc_fd, tree_visit *visit, void *context);

/* Calls `visit` for every process of init's pid namespace but init. */
void process_tree_all_but_init(int proc_fd, tree_visit *visit, void *context);

/* Sends a signal to every descendant and returns how many there were. */
size_t process_tree_signal(int proc_fd, int number);

/* Stops all of them. */
void process_tree_stop(int proc_fd);

/* In a pid namespace: waits until all that were sent SIGSTOP stand still, at most two seconds.
 * Linux gives a child that is being forked the SIGSTOP of its parent, but not the SIGCONT that
 * follows while the fork goes on: it would stand for ever. */
void process_tree_await_stop(void);

/* Ends all of them and waits for them. */
void process_tree_end(int proc_fd);

#endif
