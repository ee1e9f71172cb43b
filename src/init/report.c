#include "init/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

struct init_report *report_open(void)
{
    void *page = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, INIT_REPORT, 0);

    close(INIT_REPORT);
    if (page == MAP_FAILED)
        return NULL;
    return page;
}

static uint64_t timeval_us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static uint64_t field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct usage_before report_usage(const struct inside *in)
{
    char text[512];
    ssize_t n = in->io_fd >= 0 ? pread(in->io_fd, text, sizeof(text) - 1, 0) : -1;

    text[n > 0 ? n : 0] = '\0';
    return (struct usage_before){ .read = field(text, "rchar: "),
                                  .written = field(text, "wchar: ") };
}

struct usage_before report_usage_with(const struct inside *in, pid_t driver)
{
    struct usage_before before = report_usage(in);
    char path[40], text[4096];

    snprintf(path, sizeof(path), "%d/io", (int)driver);
    if (fd_read_small(in->proc_fd, path, text, sizeof(text)) > 0) {
        before.read += field(text, "rchar: ");
        before.written += field(text, "wchar: ");
    }
    snprintf(path, sizeof(path), "%d/status", (int)driver);
    if (fd_read_small(in->proc_fd, path, text, sizeof(text)) > 0)
        before.switches = field(text, "\nvoluntary_ctxt_switches:") +
                          field(text, "\nnonvoluntary_ctxt_switches:");
    return before;
}

void report_begin(struct init_report *report, struct usage_before before)
{
    report->io_read_before = before.read;
    report->io_write_before = before.written;
}

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

void report_end(struct init_report *report, const struct inside *in, struct usage_before before)
{
    struct usage_before now = report_usage(in);
    struct rusage usage;
    struct statfs fs;

    report->io_read_bytes = less(now.read, before.read);
    report->io_write_bytes = less(now.written, before.written);
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        report->cpu_user_us = timeval_us(&usage.ru_utime);
        report->cpu_system_us = timeval_us(&usage.ru_stime);
        report->peak_memory_bytes = (uint64_t)usage.ru_maxrss * 1024;
        report->context_switches =
            less((uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw, before.switches);
    }
    /* A file system of the host would also count other users' files. */
    if (in->root_fd >= 0 && !in->plan->run_dir && fstatfs(in->root_fd, &fs) == 0)
        report->disk_full = fs.f_bavail == 0  ? DISK_BYTES_FULL
                            : fs.f_ffree == 0 ? DISK_INODES_FULL
                                              : 0;
}
