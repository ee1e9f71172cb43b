/* Asks the user's proxy for a connection: CONNECT, with the user and password that it wants. */
#ifndef SECRETS_ASK_PROXY_H
#define SECRETS_ASK_PROXY_H

#include "secrets/helper.h"

struct ask_proxy {
    bool wanted;      /* what answers first is the proxy */
    struct buf words; /* the request, wiped once it is sent */
    size_t sent;
};

/* 0, or -1 without memory. */
int ask_proxy_begin(struct ask_proxy *ask, const struct secret_proxy *proxy, const char *name,
                    uint16_t port);
/* 1: what follows is the host's, SIDE_WAITS, or SIDE_BROKEN with a reason.  Reads no byte of what
 * follows. */
int ask_proxy_go_on(struct ask_proxy *ask, const struct secret_proxy *proxy, int fd, char *why,
                    size_t size);
void ask_proxy_done(struct ask_proxy *ask);

#endif
