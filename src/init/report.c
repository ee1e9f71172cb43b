#include "init/report.h"

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

static uint64_t io_field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct io_count report_io(const struct inside *in)
{
    char text[512];
    ssize_t n = in->io_fd >= 0 ? pread(in->io_fd, text, sizeof(text) - 1, 0) : -1;

    text[n > 0 ? n : 0] = '\0';
    return (struct io_count){ io_field(text, "rchar: "), io_field(text, "wchar: ") };
}

void report_end(struct init_report *report, const struct inside *in, struct io_count before)
{
    struct io_count now = report_io(in);
    struct rusage usage;
    struct statfs fs;

    report->io_read_bytes = now.read - before.read;
    report->io_write_bytes = now.written - before.written;
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        report->cpu_user_us = timeval_us(&usage.ru_utime);
        report->cpu_system_us = timeval_us(&usage.ru_stime);
        report->peak_memory_bytes = (uint64_t)usage.ru_maxrss * 1024;
        report->context_switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
    }
    /* On a file system of the host's it would be about other people's files. */
    if (in->root_fd >= 0 && !in->plan->place && fstatfs(in->root_fd, &fs) == 0)
        report->disk_full = fs.f_bavail == 0  ? DISK_BYTES_FULL
                            : fs.f_ffree == 0 ? DISK_INODES_FULL
                                              : 0;
}
