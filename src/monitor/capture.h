/* Captures one stream of the program: kept, passed on, or both; capped; fully counted. */
#ifndef MONITOR_CAPTURE_H
#define MONITOR_CAPTURE_H

#include <stdbool.h>

#include "base/loop.h"
#include "model/result.h"
#include "monitor/forward.h"

/* A program that writes this many times its limit is ended; until then the excess is dropped. */
#define OUTPUT_PATIENCE 4
/* Bytes kept of the end of a stream for its diagnosis. */
#define OUTPUT_TAIL (64 * 1024)

typedef void output_excess(void *context);

/* How long the reader may hold up the program, at once and in total; after that, memory keeps what
 * the reader does not take. */
#define OUTPUT_WAIT_ONCE_US 20000
#define OUTPUT_WAIT_US 2000000

struct capture {
    int fd; /* owned; -1: at its end */
    struct loop *loop;
    struct loop_watch watch, reader_watch; /* of the program; of a reader that is waited for */
    uint64_t max;
    uint64_t total;
    bool keep;
    bool keep_tail; /* keep only the end */
    struct buf kept;
    struct forward *forward; /* NULL: none */
    unsigned int timer;      /* slot of the loop, for the end of the wait */
    uint64_t paused_us;      /* when the wait for the reader began; 0: none */
    uint64_t waited_us;      /* for the reader, in total */
    output_excess *excess;
    void *context;
};

int capture_start(struct capture *capture, struct loop *loop, sbr_error *err) must_check;
/* Everything inside is dead: takes what is in the pipe now, and closes it. */
void capture_finish(struct capture *capture, struct output *ret);
void capture_done(struct capture *capture);

#endif
