#include "init/supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "confine/run_dir.h"

#define LOOK_EVERY_US 10000
#define FILES_EVERY_US 100000

void supervise_init(struct supervise *supervise, const struct inside *in,
                    struct init_report *report)
{
    *supervise =
        (struct supervise){ .report = report,
                            .supervises = in->plan->supervise && in->proc_fd >= 0,
                            .proc_fd = in->proc_fd,
                            .scratch_fd = in->root_fd,
                            .plan = in->plan,
                            .cpu_us = in->plan->cpu_ms == LIMIT_NONE ? LIMIT_NONE
                                                                     : in->plan->cpu_ms * 1000 };
    disk_usage_init(&supervise->disk_usage, in);
    supervise->active = supervise->supervises || supervise->disk_usage.n_trees;
}

int supervise_interval(const struct supervise *supervise)
{
    if (!supervise->active)
        return -1;
    return (supervise->supervises ? LOOK_EVERY_US : FILES_EVERY_US) / 1000;
}

struct totals {
    int proc_fd;
    uint64_t private, shared, memory, cpu_us, processes;
};

/* Fields of /proc/PID/stat from the 14th on, counted after the name, which may hold any byte: ticks
 * of the process (user, system) and of the children that it has waited for (user, system),
 * priority, niceness, threads. */
static void add_stat(struct totals *totals, const char *stat_line)
{
    const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    const char *p = strrchr(stat_line, ')');
    uint64_t fields[7] = { 0 };
    char *end;

    for (int field = 2; p && field < 14; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    for (size_t i = 0; p && i < ARRAY_LEN(fields); i++, p = end)
        fields[i] = strtoull(p, &end, 10);
    totals->cpu_us += (fields[0] + fields[1] + fields[2] + fields[3]) * tick_us;
    totals->processes += fields[6];
}

/* A field of /proc/PID/status, given there in kilobytes. */
static uint64_t status_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Sums up anonymous and shared memory, but not file pages, which libraries
 * share many times over. */
static void add_process(void *context, pid_t pid)
{
    struct totals *totals = context;
    char path[64], text[4096];

    snprintf(path, sizeof(path), "%d/status", (int)pid);
    if (fd_read_small(totals->proc_fd, path, text, sizeof(text)) > 0) {
        totals->private += status_field(text, "\nRssAnon:");
        totals->shared += status_field(text, "\nRssShmem:");
    }
    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (fd_read_small(totals->proc_fd, path, text, sizeof(text)) > 0)
        add_stat(totals, text);
}

static void visit_everybody(const struct supervise *supervise, tree_visit *visit, void *context)
{
    if (supervise->plan->run_dir)
        process_tree_walk(supervise->proc_fd, visit, context);
    else
        process_tree_all_but_init(supervise->proc_fd, visit, context);
}

/* The program determines how long a sample takes, so sampling takes at most a fifth of the time. */
static uint64_t next_look(uint64_t began_us, uint64_t interval_us)
{
    uint64_t now = clock_now_us(), pause = 4 * (now - began_us);

    return now + (pause > interval_us ? pause : interval_us);
}

bool supervise_is_due(const struct supervise *supervise)
{
    return supervise->active && clock_now_us() >= supervise->next_us;
}

/* Samples files: how much of its share of the host's file system the program has used where it has
 * no file system of its own, and how much memory is in files that no process has mapped. */
static void look_at_files(struct supervise *supervise)
{
    struct open_files open = { .proc_fd = supervise->proc_fd,
                               .program = supervise->program,
                               .disk_usage = &supervise->disk_usage };
    uint64_t most_files = supervise->plan->scratch_inodes + 2; /* work and tmp */
    struct run_dir_use use = { 0 };
    struct stat st;

    if (fstat(supervise->scratch_fd, &st) == 0)
        open.scratch = st.st_dev;
    visit_everybody(supervise, open_files_add, &open);
    supervise->file_memory = open.memory_bytes;
    if (!supervise->plan->run_dir) {
        /* The tmpfs itself counts its files without a name. */
        supervise->disk_full =
            disk_usage_look(&supervise->disk_usage, supervise->scratch_fd, open.disk_usage_bytes);
        return;
    }
    run_dir_measure(supervise->scratch_fd, most_files, &use);
    if (use.bytes + open.disk_bytes >= supervise->plan->scratch_bytes || use.unseen || open.unseen)
        supervise->disk_full = DISK_BYTES_FULL;
    else if (use.files > most_files)
        supervise->disk_full = DISK_INODES_FULL;
}

static uint64_t scratch_memory(const struct supervise *supervise)
{
    struct statfs fs;

    if (supervise->plan->run_dir || supervise->scratch_fd < 0 ||
        fstatfs(supervise->scratch_fd, &fs) < 0)
        return 0;
    return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

static void look_at_processes(struct supervise *supervise, struct totals *totals)
{
    uint64_t files = scratch_memory(supervise) + supervise->file_memory;
    struct rusage reaped;

    visit_everybody(supervise, add_process, totals);
    if (getrusage(RUSAGE_CHILDREN, &reaped) == 0)
        totals->cpu_us += (uint64_t)(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) * 1000000 +
                          (uint64_t)(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec);
    /* Files may also be mapped, and must not count twice. */
    totals->memory = totals->private + (files > totals->shared ? files : totals->shared);
}

static void report_sample(const struct supervise *supervise, const struct totals *totals)
{
    struct init_report *report = supervise->report;

    if (!report)
        return;
    report->now.memory_bytes = totals->memory;
    report->now.cpu_us = totals->cpu_us;
    report->now.processes = totals->processes;
}

enum init_limit supervise_look(struct supervise *supervise)
{
    struct totals totals = { .proc_fd = supervise->proc_fd };
    uint64_t now = clock_now_us();

    if (now >= supervise->next_files_us) {
        look_at_files(supervise);
        supervise->next_files_us = next_look(now, FILES_EVERY_US);
        now = clock_now_us();
    }
    supervise->next_us = next_look(now, supervise->supervises ? LOOK_EVERY_US : FILES_EVERY_US);
    if (!supervise->supervises)
        return supervise->disk_full ? INIT_LIMIT_DISK : 0;
    look_at_processes(supervise, &totals);
    /* At the limit another process has taken its place. */
    totals.processes +=
        supervise->one_just_ended && totals.processes < supervise->plan->max_processes;
    supervise->next_us = next_look(now, LOOK_EVERY_US);
    supervise->cpu_used_us = totals.cpu_us;
    report_sample(supervise, &totals);
    if (totals.memory > supervise->peak_memory)
        supervise->peak_memory = totals.memory;
    if (totals.processes > supervise->peak_processes)
        supervise->peak_processes = totals.processes;
    if (totals.memory > supervise->plan->memory_bytes)
        return INIT_LIMIT_MEMORY;
    if (totals.cpu_us > supervise->cpu_us)
        return INIT_LIMIT_CPU;
    return supervise->disk_full ? INIT_LIMIT_DISK : 0;
}

/* Processes that outlive the program ran beside it, so the peak is one more than are seen now. */
void supervise_last(struct supervise *supervise, bool program_ended)
{
    supervise->one_just_ended = program_ended;
    supervise->next_files_us = 0;
    if (supervise->active)
        (void)supervise_look(supervise);
}

void supervise_report(const struct supervise *supervise, struct init_report *report)
{
    if (supervise->peak_memory > report->peak_memory_bytes)
        report->peak_memory_bytes = supervise->peak_memory;
    if (supervise->disk_full)
        report->disk_full = supervise->disk_full;
    report->peak_processes = supervise->peak_processes ? supervise->peak_processes : 1;
    /* Processes that are alive at the end were not waited for, so no other sum has them. */
    if (supervise->cpu_used_us > report->cpu_user_us + report->cpu_system_us)
        report->cpu_user_us = supervise->cpu_used_us - report->cpu_system_us;
}
