#include "init/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

void report_send(int control_fd, const struct init_event *event)
{
    ssize_t ignored = write(control_fd, event, sizeof(*event));

    (void)ignored;
}

static uint64_t timeval_us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static uint64_t io_field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

void report_fill(struct init_event *event, const struct inside *in)
{
    char io[512];
    struct rusage usage;
    struct statfs fs;
    ssize_t n = in->io_fd >= 0 ? pread(in->io_fd, io, sizeof(io) - 1, 0) : -1;

    if (n > 0) {
        io[n] = '\0';
        event->io_read_bytes = io_field(io, "rchar: ");
        event->io_write_bytes = io_field(io, "wchar: ");
    }
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        event->cpu_user_us = timeval_us(&usage.ru_utime);
        event->cpu_system_us = timeval_us(&usage.ru_stime);
        event->peak_memory_bytes = (uint64_t)usage.ru_maxrss * 1024;
        event->context_switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
    }
    if (in->scratch_fd >= 0 && fstatfs(in->scratch_fd, &fs) == 0)
        event->disk_full = fs.f_bavail == 0 || fs.f_ffree == 0;
}

void report_subtract(struct init_event *event, const struct init_event *before)
{
    uint64_t own_writes = before->io_write_bytes + sizeof(*event);

    event->io_read_bytes -= before->io_read_bytes;
    event->io_write_bytes -= event->io_write_bytes < own_writes ? event->io_write_bytes : own_writes;
}
