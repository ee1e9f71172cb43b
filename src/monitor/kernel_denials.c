#include "monitor/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define STATUS_SIZE 8192

/* "NSsid:\t4711\t2\n": from the namespace of the reader to that of the process.  The name of the
 * process, which comes before, has no line end: the kernel writes it as "\n". */
uint32_t kernel_denials_parse(const char *status)
{
    const char *at = strstr(status, "\nNSsid:");
    unsigned long last = 0;

    for (at = at ? at + strlen("\nNSsid:") : ""; *at == '\t';) {
        char *end;

        last = strtoul(at, &end, 10);
        at = end;
    }
    return last <= UINT32_MAX ? (uint32_t)last : 0;
}

static uint32_t session_of(pid_t task)
{
    char path[40], status[STATUS_SIZE];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)task);
    return fd_read_small(AT_FDCWD, path, status, sizeof(status)) > 0 ? kernel_denials_parse(status)
                                                                     : 0;
}

bool kernel_denials_is_own(const struct kernel_denials *k, const struct init_report *report,
                           pid_t task)
{
    bool alone = true;

    for (size_t i = 1; i <= INIT_KERNELS; i++)
        alone &= !report->kernels[i];
    if (alone || !task)
        return true;
    return report->kernels[k->turn] && session_of(task) == report->kernels[k->turn];
}
