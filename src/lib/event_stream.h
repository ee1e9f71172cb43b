/* The events of a job as lines of JSON to an fd, without waiting for its reader: a slow one holds
 * the program up by its pipes, and signals and deadlines go on.  For our own clients. */
#ifndef LIB_EVENT_STREAM_H
#define LIB_EVENT_STREAM_H

#include "base/buf.h"
#include "lib/event_lines.h"
#include "monitor/forward.h"

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
