/* The events of one run, as lines: what readers resume from by number.
 *
 * The number of bytes is bounded.  The oldest lines go first; a reader that is behind them learns
 * how many it missed.  So a slow reader costs memory up to the bound and never holds a run up. */
#ifndef HTTP_EVENT_LOG_H
#define HTTP_EVENT_LOG_H

#include "base/buf.h"
#include "http/response_text.h"

struct event_log_line {
    char *text; /* JSON, without its newline */
    size_t len;
    uint64_t before;              /* bytes of all lines before it */
    struct response_text *result; /* stands behind the text, and a brace behind it; NULL: none */
};

struct event_log {
    struct event_log_line *lines; /* a ring of `capacity` */
    size_t capacity, at, n;
    uint64_t first; /* the number of the oldest line */
    size_t bytes, max;
    uint64_t added; /* bytes of all lines so far */
};

void event_log_init(struct event_log *log, size_t max);
void event_log_done(struct event_log *log);
/* Adds the lines of `text`, each with a newline; one that is alone and long is taken out of it.
 * 0, or -1 without memory. */
int event_log_add(struct event_log *log, struct buf *text);
/* The same of lines of which the last is an object up to the value of its last member.  That value
 * is the result of the run, which the log only shares. */
int event_log_add_end(struct event_log *log, struct buf *text, struct response_text *result);
/* The line with this number; NULL: it is gone, or not there yet. */
const struct event_log_line *event_log_get(const struct event_log *log, uint64_t number);
/* Bytes of the lines from this number on; those that are gone do not count. */
size_t event_log_unread(const struct event_log *log, uint64_t number);
/* The number that the next line gets. */
uint64_t event_log_next(const struct event_log *log);

#endif
