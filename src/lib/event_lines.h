/* What happens in a job as lines of JSON, one object each: docs/events.md.  Pure: a client with
 * another way out than an fd uses it, too. */
#ifndef LIB_EVENT_LINES_H
#define LIB_EVENT_LINES_H

#include "base/buf.h"
#include "model/request.h"

#define EVENT_LINES_HELD 3 /* bytes of a character of which the last is still to come */

struct event_lines {
    uint64_t started_us; /* when the request came */
    uint64_t seq;
    struct {
        char bytes[EVENT_LINES_HELD];
        size_t n;
    } held[2]; /* of stdout and stderr */
};

/* Each adds its line or lines to `out`. */
void event_lines_start(struct event_lines *lines, const sbr_request *req, struct buf *out);
/* Text stays text: a character that is not complete yet waits for the next bytes. */
void event_lines_output(struct event_lines *lines, int stream, const char *data, size_t len,
                        struct buf *out);
void event_lines_event(struct event_lines *lines, const sbr_event *event, struct buf *out);
/* The line of the end up to its result, behind which the caller adds "}". */
void event_lines_end_head(struct event_lines *lines, struct buf *out);
/* `result` is the JSON of a result, or of an error. */
void event_lines_end(struct event_lines *lines, const char *result, struct buf *out);

#endif
