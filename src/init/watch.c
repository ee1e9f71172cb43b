#include "init/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "init/tree.h"
#include "sandbox/place.h"

#define LOOK_EVERY_MS 10
#define MEASURE_EVERY_US 100000

void watch_init(struct watch *watch, const struct inside *in)
{
    *watch = (struct watch){ .active = in->plan->supervise && in->proc_fd >= 0,
                             .proc_fd = in->proc_fd,
                             .scratch_fd = in->root_fd,
                             .plan = in->plan,
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

struct addition {
    struct totals *totals;
    int proc_fd;
};

static void add_descendant(void *context, pid_t pid)
{
    const struct addition *addition = context;
    char name[16];

    snprintf(name, sizeof(name), "%d", (int)pid);
    add_process(addition->totals, addition->proc_fd, name);
}

/* In a pid namespace, everybody but init. */
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

/* Files that are open and have no name any more.  Each is counted once, whoever has it open. */
struct unnamed {
    const struct watch *watch;
    struct place_use *use;
    dev_t device;
    ino_t seen[1024]; /* beyond them a file counts for each who has it open */
    size_t n_seen;
};

static void add_open_file(struct unnamed *unnamed, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || st->st_nlink > 0 || st->st_dev != unnamed->device)
        return;
    for (size_t i = 0; i < unnamed->n_seen; i++)
        if (unnamed->seen[i] == st->st_ino)
            return;
    if (unnamed->n_seen < ARRAY_LEN(unnamed->seen))
        unnamed->seen[unnamed->n_seen++] = st->st_ino;
    unnamed->use->bytes += (uint64_t)st->st_blocks * 512;
}

/* The files of one that is dead but not yet waited for belong to root. */
static bool has_memory(int proc_fd, pid_t pid)
{
    char path[32], text[4096];

    snprintf(path, sizeof(path), "%d/status", (int)pid);
    return fd_read_small(proc_fd, path, text, sizeof(text)) > 0 && strstr(text, "\nVmSize:");
}

/* A process whose descriptors cannot be looked at counts as one that hides something. */
static void add_open_files(void *context, pid_t pid)
{
    struct unnamed *unnamed = context;
    scoped_dir DIR *dir = NULL;
    const struct dirent *entry;
    char path[32];
    int fd;

    snprintf(path, sizeof(path), "%d/fd", (int)pid);
    fd = openat(unnamed->watch->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && has_memory(unnamed->watch->proc_fd, pid))
        unnamed->use->unseen = true;
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    while (dir && (entry = readdir(dir))) {
        struct stat st;

        if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            add_open_file(unnamed, &st);
    }
}

static void add_unnamed(const struct watch *watch, struct place_use *use)
{
    struct unnamed unnamed = { .watch = watch, .use = use };
    struct stat st;

    if (fstat(watch->scratch_fd, &st) < 0)
        return;
    unnamed.device = st.st_dev;
    tree_walk(watch->proc_fd, add_open_files, &unnamed);
}

/* Zero, or what is used up of the program's share of the host's file system. */
static uint32_t measure_place(const struct watch *watch)
{
    struct place_use use;

    place_measure(watch->scratch_fd, watch->plan->scratch_inodes + 2, &use);
    add_unnamed(watch, &use);
    if (use.bytes >= watch->plan->scratch_bytes || use.unseen)
        return DISK_BYTES_FULL;
    return use.files > watch->plan->scratch_inodes + 2 ? DISK_INODES_FULL : 0; /* work and tmp */
}

/* Looking at all files takes its time, so it is done less often. */
static bool place_is_full(struct watch *watch)
{
    if (!watch->plan->place || clock_now_us() < watch->next_place_us)
        return false;
    watch->disk_full = measure_place(watch);
    watch->next_place_us = clock_now_us() + MEASURE_EVERY_US;
    return watch->disk_full != 0;
}

enum init_limit watch_look(struct watch *watch)
{
    struct totals totals = { 0 };
    struct addition addition = { &totals, watch->proc_fd };
    struct rusage reaped;
    struct statfs fs;

    if (watch->plan->place)
        tree_walk(watch->proc_fd, add_descendant, &addition);
    else
        add_all(&totals, watch->proc_fd);
    if (getrusage(RUSAGE_CHILDREN, &reaped) == 0)
        totals.cpu_us += (uint64_t)(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) * 1000000 +
                         (uint64_t)(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec);
    if (!watch->plan->place && watch->scratch_fd >= 0 && fstatfs(watch->scratch_fd, &fs) == 0)
        totals.memory += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    watch->cpu_used_us = totals.cpu_us;
    if (totals.memory > watch->peak_memory)
        watch->peak_memory = totals.memory;
    if (totals.processes > watch->peak_processes)
        watch->peak_processes = totals.processes;
    if (totals.memory > watch->plan->memory_bytes)
        return INIT_LIMIT_MEMORY;
    if (totals.cpu_us > watch->cpu_us)
        return INIT_LIMIT_CPU;
    return place_is_full(watch) ? INIT_LIMIT_DISK : 0;
}

void watch_last(struct watch *watch)
{
    watch->next_place_us = 0;
    if (watch->active)
        (void)watch_look(watch);
}

void watch_report(const struct watch *watch, struct init_report *report)
{
    if (watch->peak_memory > report->peak_memory_bytes)
        report->peak_memory_bytes = watch->peak_memory;
    if (watch->disk_full)
        report->disk_full = watch->disk_full;
    report->peak_processes = watch->peak_processes ? watch->peak_processes : 1;
    /* What is still alive at the end was not waited for, and is in no other sum. */
    if (watch->cpu_used_us > report->cpu_user_us + report->cpu_system_us)
        report->cpu_user_us = watch->cpu_used_us - report->cpu_system_us;
}
