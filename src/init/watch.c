#include "init/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"

#define LOOK_EVERY_MS 10

void watch_init(struct watch *watch, const struct inside *in)
{
    *watch = (struct watch){ .active = in->plan->supervise && in->proc_fd >= 0,
                             .proc_fd = in->proc_fd,
                             .scratch_fd = in->root_fd,
                             .memory_bytes = in->plan->memory_bytes,
                             .cpu_us = in->plan->cpu_ms == LIMIT_NONE ? LIMIT_NONE
                                                                      : in->plan->cpu_ms * 1000 };
}

int watch_interval(const struct watch *watch)
{
    return watch->active ? LOOK_EVERY_MS : -1;
}

struct totals {
    uint64_t memory, cpu_us, processes;
};

/* From the 14th field of /proc/PID/stat on, counted after the name, which may hold anything: ticks
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

/* A field of /proc/PID/status in kilobytes. */
static uint64_t status_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Anonymous and shared memory; not pages of files, which libraries share many times over. */
static void add_process(struct totals *totals, int proc_fd, const char *pid)
{
    char path[64], text[4096];

    snprintf(path, sizeof(path), "%.16s/status", pid);
    if (fd_read_small(proc_fd, path, text, sizeof(text)) > 0)
        totals->memory += status_field(text, "\nRssAnon:") + status_field(text, "\nRssShmem:");
    snprintf(path, sizeof(path), "%.16s/stat", pid);
    if (fd_read_small(proc_fd, path, text, sizeof(text)) > 0)
        add_stat(totals, text);
}

static void add_all(struct totals *totals, int proc_fd)
{
    int copy = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strcmp(entry->d_name, "1") != 0)
            add_process(totals, proc_fd, entry->d_name);
}

bool watch_is_due(struct watch *watch)
{
    uint64_t now = clock_now_us();

    if (!watch->active || now < watch->next_us)
        return false;
    watch->next_us = now + LOOK_EVERY_MS * 1000;
    return true;
}

enum init_limit watch_look(struct watch *watch)
{
    struct totals totals = { 0 };
    struct rusage reaped;
    struct statfs fs;

    add_all(&totals, watch->proc_fd);
    if (getrusage(RUSAGE_CHILDREN, &reaped) == 0)
        totals.cpu_us += (uint64_t)(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) * 1000000 +
                         (uint64_t)(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec);
    if (watch->scratch_fd >= 0 && fstatfs(watch->scratch_fd, &fs) == 0)
        totals.memory += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    watch->cpu_used_us = totals.cpu_us;
    if (totals.memory > watch->peak_memory)
        watch->peak_memory = totals.memory;
    if (totals.processes > watch->peak_processes)
        watch->peak_processes = totals.processes;
    if (totals.memory > watch->memory_bytes)
        return INIT_LIMIT_MEMORY;
    return totals.cpu_us > watch->cpu_us ? INIT_LIMIT_CPU : 0;
}

void watch_report(const struct watch *watch, struct init_report *report)
{
    if (watch->peak_memory > report->peak_memory_bytes)
        report->peak_memory_bytes = watch->peak_memory;
    report->peak_processes = watch->peak_processes ? watch->peak_processes : 1;
    /* What is still alive at the end was not waited for, and is in no other sum. */
    if (watch->cpu_used_us > report->cpu_user_us + report->cpu_system_us)
        report->cpu_user_us = watch->cpu_used_us - report->cpu_system_us;
}
