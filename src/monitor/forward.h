/* Passes output on at once, to a file descriptor that others share, without ever waiting for its
 * reader.  Queues what does not fit; the caller brings no more until the queue is empty. */
#ifndef MONITOR_FORWARD_H
#define MONITOR_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"

/* Adds to `out` what may pass, for example without terminal escapes; it may add what it holds back
 * in a later call. */
typedef void forward_filter(void *state, const char *data, size_t len, struct buf *out);

struct forward {
    int fd; /* -1: gone */
    /* why bytes were lost although the reader was there, as on a full disk; 0: none were */
    int sys_errno;
    bool own_fd;  /* we opened it */
    size_t chunk; /* bytes that one write may take without blocking; 0: not opened yet */
    forward_filter *filter;
    void *filter_state;
    struct buf filtered; /* the last bytes that passed the filter */
    struct buf queue;
    size_t queue_start;
    struct loop *loop;
    struct loop_watch watch;
    bool can_splice, is_socket, grown;
    char last;                    /* byte that was taken; 0: none, or not known after a splice */
    void (*ready)(void *context); /* forward_when_ready; NULL: not awaited */
    void *ready_context;
};

/* `fd` is borrowed.  Its flags stay unchanged, because other processes write to the same file. */
void forward_init(struct forward *forward, int fd);
void forward_done(struct forward *forward);
/* The loop in which `forward` waits for its reader. */
void forward_attach(struct forward *forward, struct loop *loop);

/* Takes bytes; -1 when the reader is gone or writing failed (sys_errno). */
int forward_write(struct forward *forward, const char *data, size_t len);
/* Moves up to `len` bytes from a pipe without copying.  Their number; 0 when that is not possible
 * here or now, and bytes must be read and written; -1 when the reader is gone; FORWARD_FULL when
 * the reader has not taken the last ones yet. */
#define FORWARD_FULL (-2)
ssize_t forward_splice(struct forward *forward, int pipe_fd, size_t len);
/* True when everything was written or the reader is gone. */
bool forward_is_idle(const struct forward *forward);
/* Calls back once, when the reader takes bytes again and the queue is empty, or the reader left. */
void forward_when_ready(struct forward *forward, void (*ready)(void *context), void *context);
/* Writing cannot go on: the reader gets no more, and sys_errno says why. */
void forward_fail(struct forward *forward, int sys_errno);
/* No more bytes will come.  Lets the reader's pipe grow to take the queue, as the kernel would have
 * kept these bytes for the reader of a program that wrote to it directly. */
void forward_end(struct forward *forward);
/* Bytes that wait for the reader. */
size_t forward_queued(const struct forward *forward);

#endif
