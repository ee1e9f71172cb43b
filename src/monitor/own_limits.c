#include "monitor/monitor.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define STACK_USUAL ((uint64_t)8 << 20)

/* Nobody can raise a hard limit for the program; `ours` is what it would have without it. */
static const struct {
    int resource;
    const char *option;
    unsigned int unit; /* of the option, in those of the kernel */
    int limit;         /* enum sbr_limit; -1: none */
    uint64_t ours;     /* without such a limit */
} rows[] = {
    { RLIMIT_CPU, "t", 1, SBR_CPU_MS, UINT64_MAX },
    { RLIMIT_AS, "v", 1024, -1, UINT64_MAX },
    { RLIMIT_DATA, "d", 1024, SBR_MEMORY_BYTES, UINT64_MAX },
    { RLIMIT_STACK, "s", 1024, -1, STACK_USUAL },
    { RLIMIT_FSIZE, "f", 1024, SBR_DISK_BYTES, UINT64_MAX },
    { RLIMIT_NOFILE, "n", 1, SBR_OPEN_FILES, UINT64_MAX },
};

static uint64_t ours_of(const sbr_result *result, size_t row)
{
    uint64_t value = rows[row].limit < 0 ? LIMIT_NONE : result->limits.value[rows[row].limit];

    if (value == LIMIT_NONE)
        return rows[row].ours;
    return rows[row].limit == SBR_CPU_MS ? value / 1000 : value;
}

/* Of time and of the size of files only an end that they can be behind is told. */
static bool concerns(const sbr_result *result, int resource)
{
    if (resource == RLIMIT_CPU)
        return result->signal == SIGKILL || result->signal == SIGXCPU;
    return result->verdict == SBR_DISK_LIMIT ? resource == RLIMIT_FSIZE : resource != RLIMIT_FSIZE;
}

void own_limits_explain(sbr_result *result)
{
    bool by_us = result->verdict != SBR_EXITED && result->verdict != SBR_SIGNALED &&
                 result->verdict != SBR_DISK_LIMIT;
    size_t used = strlen(result->explanation), size = sizeof(result->explanation);
    const char *begin = used ? "; your own" : "your own";

    for (size_t i = 0; !by_us && !result_success(result) && i < ARRAY_LEN(rows); i++) {
        struct rlimit own;

        if (!concerns(result, rows[i].resource) || getrlimit(rows[i].resource, &own) < 0 ||
            own.rlim_max == RLIM_INFINITY || own.rlim_max >= ours_of(result, i) || used >= size)
            continue;
        used +=
            (size_t)snprintf(result->explanation + used, size - used, "%s `ulimit -%s %llu`", begin,
                             rows[i].option, (unsigned long long)own.rlim_max / rows[i].unit);
        begin = ",";
    }
    if (begin[0] == ',' && used < size)
        snprintf(result->explanation + used, size - used, " bounds the program, too");
}
