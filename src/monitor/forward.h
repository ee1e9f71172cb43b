/* Where output goes on the spot: a descriptor that is not ours alone, written to without ever
 * waiting for its reader.  What does not fit yet is queued; the queue is bounded by the output
 * limit. */
#ifndef MONITOR_FORWARD_H
#define MONITOR_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"

/* Adds to `out` what may pass, for example without terminal escapes; what it holds back it may add
 * at the next call. */
typedef void forward_filter(void *state, const char *data, size_t len, struct buf *out);

struct forward {
    int fd;        /* -1: gone */
    int sys_errno; /* why bytes were lost though the reader was there, as on a full disk; 0: none were */
    bool own_fd;  /* opened by us */
    size_t chunk; /* how much one write may take without waiting; 0: not opened yet */
    forward_filter *filter;
    void *filter_state;
    struct buf filtered; /* the last bytes that passed the filter */
    struct buf queue;
    size_t queue_start;
    struct loop *loop;
    bool watching;
    bool can_splice;
    bool patient; /* a slow reader holds the program up, however long */
};

/* `fd` is borrowed.  Its flags are left alone: others write to the same file. */
void forward_init(struct forward *forward, int fd, size_t max_queue);
void forward_done(struct forward *forward);
/* The loop in which the sink waits for its reader. */
void forward_attach(struct forward *forward, struct loop *loop);

/* Takes bytes; -1 when the reader is gone, or see sys_errno. */
int forward_write(struct forward *forward, const char *data, size_t len);
/* Moves up to `len` bytes from a pipe without copying them.  How many; 0 when that does not work here
 * or now, and bytes have to be read and written; -1 when the reader is gone; SINK_FULL when it has not
 * taken the last ones yet. */
#define SINK_FULL (-2)
ssize_t forward_splice(struct forward *forward, int pipe_fd, size_t len);
/* True when everything was written or the reader is gone. */
bool forward_is_idle(const struct forward *forward);

#endif
