/* What each stage does and how long it takes.  Silent unless the program turns it on; goes to one
 * fd that is never one of the sandboxed program's streams.  Libraries log nothing else. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_SILENT, LOG_INFO, LOG_DEBUG };

void log_open(enum log_level level, int fd);
/* The fd is a terminal that does not begin a line by itself. */
void log_raw(bool raw);
enum log_level log_level_from_name(const char *name); /* unknown: LOG_SILENT */

void log_line(enum log_level level, const char *stage, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

extern enum log_level log_current_level;

#define log_info(stage, ...)                                                                       \
    (log_current_level >= LOG_INFO ? log_line(LOG_INFO, stage, __VA_ARGS__) : (void)0)
#define log_debug(stage, ...)                                                                      \
    (log_current_level >= LOG_DEBUG ? log_line(LOG_DEBUG, stage, __VA_ARGS__) : (void)0)

#endif
