/* One end of a tunnel: a socket, with TLS or without. */
#ifndef SECRETS_SIDE_H
#define SECRETS_SIDE_H

#include <openssl/ssl.h>
#include <sys/types.h>

#include "base/loop.h"

struct side {
    struct loop_watch watch;
    SSL *ssl;         /* NULL: plain */
    bool shaken, cut; /* the handshake is over; the stream ended without TLS saying so */
};

#define SIDE_WAITS (-1)
#define SIDE_BROKEN (-2)

/* 1: done, SIDE_WAITS or SIDE_BROKEN. */
int side_shake(struct side *side);
/* Bytes, 0 at the end, SIDE_WAITS or SIDE_BROKEN. */
ssize_t side_read(struct side *side, char *data, size_t size);
ssize_t side_write(struct side *side, const char *data, size_t len);
/* Nothing more will be written. */
void side_finish(struct side *side);
void side_close(struct side *side, struct loop *events, bool reset);

#endif
