/* What happens in a job as lines of JSON, one object each: docs/events.md.  Pure: a client with
 * another way out than an fd uses it, too. */
#ifndef LIB_EVENT_LINES_H
#define LIB_EVENT_LINES_H

#include "base/buf.h"
#include "model/request.h"
#include "monitor/forward.h"

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

/* The events of a job as lines of JSON to an fd, without waiting for its reader: a slow one holds
 * the program up by its pipes, and signals and deadlines go on.  For our own clients. */
struct event_stream {
    sbr_job *job;
    struct event_lines lines;
    struct forward to;
    struct buf waiting; /* lines that go out together: with output, or when the job next waits */
    bool holds;         /* the program's output, until the reader has taken more */
    bool is_gone;       /* the reader left: the job is cancelled */
    sbr_event_fn *also; /* gets the events, too; NULL: none */
    void *context;
};

/* Between sbr_job_start and the first dispatch.  `fd` is borrowed.  Takes the job's callbacks; what
 * `also` and `context` name gets the events as well. */
int event_stream_start(struct event_stream *stream, sbr_job *job, int fd, const sbr_request *req,
                       sbr_error *err) must_check;
/* The last line: the JSON of the result, or of an error.  Then turns of event_stream_wait write the
 * rest. */
void event_stream_end(struct event_stream *stream, const char *result);
/* Waits until the reader takes more, or for an fd of runner_watch.  False: all is written, or the
 * reader left. */
bool event_stream_wait(struct event_stream *stream);
/* An error when lines were lost on their way, as on a full disk. */
int event_stream_check(const struct event_stream *stream, sbr_error *err) must_check;

#endif
