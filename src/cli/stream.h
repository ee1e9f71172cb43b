/* --stream: what happens, as lines of JSON on stdout. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "cli/options.h"
#include "lib/event_lines.h"

int stream_check_options(const struct options *o, sbr_error *err) must_check;
int stream_connect(struct event_stream *stream, sbr_job *job, const struct options *o,
                   sbr_error *err) must_check;
/* The only line of a run that did not come as far as a job. */
void stream_fail(const sbr_error *err);

#endif
