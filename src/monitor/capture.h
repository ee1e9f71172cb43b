/* Captures one stream of the program: kept, passed on, or both; fully counted.
 *
 * Nothing is lost without a limit: a slow reader holds the program up, as a pipe would, and memory
 * keeps at most one chunk for the reader. */
#ifndef MONITOR_CAPTURE_H
#define MONITOR_CAPTURE_H

#include <stdbool.h>

#include "base/loop.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/result.h"
#include "monitor/forward.h"
#include "monitor/head_tail.h"

/* Bytes kept of a stream, unless its limit says otherwise: one half of them is the beginning, the
 * other the end. */
#define OUTPUT_KEPT (10 * MIB)
/* The most that a limit can ask for. */
#define OUTPUT_KEPT_MAX (1024 * MIB)
/* Bytes kept of the end of a stream for its diagnosis. */
#define OUTPUT_TAIL (64 * 1024)

typedef void output_excess(void *context);

/* Gets the bytes of a stream in the order in which they are read, before they are passed on.  The
 * limit bounds them.  Not called: NULL. */
struct capture_sink {
    void (*on_bytes)(void *context, const char *data, size_t len);
    void *context;
};

struct capture {
    int fd; /* owned; -1: at its end */
    struct loop *loop;
    struct loop_watch watch;
    bool is_tty;  /* the end comes as an error */
    uint64_t max; /* LIMIT_NONE: none */
    uint64_t total;
    bool over;    /* the program wrote more than `max` */
    bool ends;    /* everything inside is dead */
    bool held;    /* until the reader takes bytes again */
    bool stopped; /* until the caller wants more */
    bool keep;
    bool keep_tail; /* keep only the end */
    struct head_tail kept;
    struct capture_sink sink, file; /* of the caller; of the file that keeps everything */
    struct forward *forward;        /* NULL: none */
    output_excess *excess;          /* called once, when `max` is exceeded while the program runs */
    void *context;
};

int capture_start(struct capture *capture, struct loop *loop, sbr_error *err) must_check;
/* The stream comes from a terminal from now on; takes over the file descriptor. */
int capture_switch(struct capture *capture, int tty_fd) must_check;
/* While it is stopped, the program's bytes stay in its pipe.  The rest comes with the end. */
void capture_stop(struct capture *capture, bool stop);
/* Takes what is in the pipe now, and no more. */
void capture_drain(struct capture *capture);
/* Everything inside is dead: takes what is in the pipe now, and closes it. */
void capture_finish(struct capture *capture, struct output *ret);
void capture_done(struct capture *capture);

#endif
