#include "monitor/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define PIDS_TEXT (32 * 1024) /* of a few thousand processes; with more, I/O is not known */

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static uint64_t field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Adds what one process and the children that it has waited for have read and written. */
static bool add_io(long pid, sbr_metrics *ret)
{
    char path[40], text[512];

    snprintf(path, sizeof(path), "/proc/%ld/io", pid);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    ret->io_read_bytes += field(text, "rchar: ");
    ret->io_write_bytes += field(text, "wchar: ");
    return true;
}

/* Init has waited for all that ended, so its own figures have theirs; a process that ends between
 * two reads is missing once. */
static void read_io(const struct sandbox *box, sbr_metrics *ret)
{
    char text[PIDS_TEXT], *p = text, *end;
    bool has_init = false;

    if (cgroup_read_pids(&box->cgroup, text, sizeof(text)) <= 0)
        return;
    for (long pid; (pid = strtol(p, &end, 10)) > 0; p = end)
        has_init |= add_io(pid, ret) && pid == (long)box->init.pid;
    if (!has_init) { /* another user's, or not in sight: a part would look like all of it */
        ret->io_read_bytes = ret->io_write_bytes = 0;
        return;
    }
    ret->io_read_bytes = less(ret->io_read_bytes, box->report->io_read_before);
    ret->io_write_bytes = less(ret->io_write_bytes, box->report->io_write_before);
    ret->known |= SBR_METRIC_IO;
}

static void read_cgroups(const struct sandbox *box, sbr_metrics *ret)
{
    uint32_t controllers = box->cgroup.controllers;
    struct cgroup_usage usage;
    struct cgroup_now now;

    cgroup_read(&box->cgroup, &usage);
    cgroup_read_now(&box->cgroup, &now);
    if (controllers & 1u << CG_CPUACCT) {
        ret->cpu_user_us = less(usage.cpu_user_us, box->before.cpu_user_us);
        ret->cpu_system_us = less(usage.cpu_system_us, box->before.cpu_system_us);
        ret->known |= SBR_METRIC_CPU;
    }
    if (controllers & 1u << CG_MEMORY) {
        ret->memory_bytes = now.memory_bytes;
        ret->peak_memory_bytes =
            usage.peak_memory_bytes > now.memory_bytes ? usage.peak_memory_bytes : now.memory_bytes;
        ret->known |= SBR_METRIC_MEMORY;
    }
    if (controllers & 1u << CG_PIDS) {
        ret->processes = now.processes;
        ret->known |= SBR_METRIC_PROCESSES;
    }
}

/* Init knows only sums of CPU time, which count as the program's own. */
static void read_samples(const struct init_report *report, sbr_metrics *ret)
{
    uint32_t missing = (SBR_METRIC_CPU | SBR_METRIC_MEMORY | SBR_METRIC_PROCESSES) & ~ret->known;

    if (!report->now.processes)
        return;
    if (missing & SBR_METRIC_CPU)
        ret->cpu_user_us = report->now.cpu_us;
    if (missing & SBR_METRIC_MEMORY)
        ret->memory_bytes = report->now.memory_bytes;
    if (missing & SBR_METRIC_PROCESSES)
        ret->processes = report->now.processes;
    ret->known |= missing;
}

void live_usage_read(const struct monitor *m, sbr_metrics *ret)
{
    ret->out_bytes = m->out.total;
    ret->errout_bytes = m->err.total;
    if (m->state == DONE)
        return; /* the sandbox is gone; the result has the figures */
    if (m->box->cgroup.controllers)
        read_cgroups(m->box, ret);
    read_samples(m->box->report, ret);
    read_io(m->box, ret);
}
