/* Captures one stream of the program: kept, passed on, or both; capped; counted to the last byte.
 */
#ifndef MONITOR_OUTPUT_H
#define MONITOR_OUTPUT_H

#include <stdbool.h>

#include "base/loop.h"
#include "job/result.h"
#include "monitor/sink.h"

/* A program that writes this many times its limit is ended; until then the excess is only dropped.
 */
#define OUTPUT_PATIENCE 4

typedef void output_excess(void *context);

struct capture {
    int fd; /* owned; -1: at its end */
    struct loop *loop;
    uint64_t max;
    uint64_t total;
    bool keep;
    struct buf kept;
    struct sink *sink; /* NULL: none */
    output_excess *excess;
    void *context;
};

int capture_start(struct capture *capture, struct loop *loop, sbr_error *err) must_check;
/* Everything inside is dead: takes what is left in the pipe. */
void capture_finish(struct capture *capture, struct output *ret);
void capture_done(struct capture *capture);

#endif
