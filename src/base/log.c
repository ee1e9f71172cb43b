#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum log_level log_current_level = LOG_SILENT;
static int log_fd = -1;
static uint64_t log_start_us;
static bool log_is_raw;

void log_open(enum log_level level, int fd)
{
    log_fd = fd;
    log_start_us = clock_now_us();
    log_current_level = fd >= 0 ? level : LOG_SILENT;
}

void log_raw(bool raw)
{
    log_is_raw = raw;
}

enum log_level log_level_from_name(const char *name)
{
    if (!strcmp(name, "debug"))
        return LOG_DEBUG;
    return !strcmp(name, "info") ? LOG_INFO : LOG_SILENT;
}

/* One write per line, so that lines of several threads do not mix.  Control characters become '?',
 * because untrusted programs choose names and arguments. */
void log_line(enum log_level level, const char *stage, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    int used;
    ssize_t ignored;

    if (level > log_current_level)
        return;
    used = snprintf(line, sizeof(line),
                    "sandbox-run: %8.3f ms %s: ", (double)(clock_now_us() - log_start_us) / 1000,
                    stage);
    va_start(args, fmt);
    vsnprintf(line + used, sizeof(line) - (size_t)used, fmt, args);
    va_end(args);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    used = (int)strnlen(line, sizeof(line) - 2);
    if (log_is_raw)
        line[used++] = '\r';
    line[used] = '\n';
    ignored = write(log_fd, line, (size_t)used + 1);
    (void)ignored; /* a log that cannot be written must not change the run */
}
