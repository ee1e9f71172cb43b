/* Captures one stream of the program: kept, passed on, or both; fully counted.
 *
 * Nothing is lost without a limit: a slow reader holds the program up, as a pipe would, and memory
 * keeps at most one chunk for the reader. */
#ifndef MONITOR_CAPTURE_H
#define MONITOR_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/result.h"
#include "monitor/forward.h"

/* The beginning and the end of a stream in bounded memory.  What lies between is counted. */
struct head_tail {
    /* All bytes, as long as they fit.  Then what is behind the head is a ring of the last ones. */
    struct buf kept;
    size_t head_max, ring_max;
    size_t ring_start; /* of the oldest byte of the ring */
    uint64_t total;
};

void head_tail_init(struct head_tail *both, size_t head_max, size_t tail_max);
void head_tail_done(struct head_tail *both);
/* Where the next `len` bytes can be put without a copy: for head_tail_added, or forgotten.  NULL:
 * there is no room for them. */
char *head_tail_room(struct head_tail *both, size_t len);
void head_tail_added(struct head_tail *both, size_t len);
void head_tail_add(struct head_tail *both, const char *data, size_t len);
/* Everything as `data`, or the head as `data` and the end as `tail`, each cut between two
 * characters of UTF-8.  `goes_on`: bytes that were not added came last, so the end is a cut as
 * well.  Empties the object. */
void head_tail_take(struct head_tail *both, bool goes_on, struct output *ret);
/* Only the end, as `tail`. */
void head_tail_take_tail(struct head_tail *both, struct output *ret);

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
