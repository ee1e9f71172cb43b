/* Frames over a socket that keeps the bounds of messages (SOCK_SEQPACKET): what the socket does not
 * take waits here, in order, up to a bound. */
#ifndef BASE_FRAMES_H
#define BASE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct frames {
    int fd; /* owned; -1: closed */
    struct buf waiting;
    bool broken; /* a frame is lost: those behind it would be taken for something else */
};

void frames_init(struct frames *f, int fd, size_t max_waiting);
void frames_done(struct frames *f);
/* One frame of two parts.  0: sent, or it waits; -1: it is lost, and nothing is sent any more. */
int frames_send(struct frames *f, const void *head, size_t head_len, const void *data, size_t len);
/* Sends what waits.  0, also when some of it still waits; -1 as above. */
int frames_flush(struct frames *f);
bool frames_is_waiting(const struct frames *f);
/* The bytes of one frame; 0: the other end is closed; -1 with EAGAIN: there is none. */
ssize_t frames_receive(const struct frames *f, void *data, size_t size);

#endif
