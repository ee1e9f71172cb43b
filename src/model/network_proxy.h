/* The user's proxy, by which the way out reaches hosts; its password is not here. */
#ifndef MODEL_NETWORK_PROXY_H
#define MODEL_NETWORK_PROXY_H

#include "model/network.h"

struct network_proxy {
    char host[HOSTNAME_SIZE]; /* empty: there is none */
    uint16_t port;
    struct network direct; /* hosts that are dialled without it, with all names below them */
};

/* True when this (canonical) name, or address as text, is reached by the proxy. */
bool network_proxy_is_for(const struct network_proxy *proxy, const char *name, uint16_t port);
/* Adds a word of NO_PROXY; one that names no host changes nothing. */
int network_proxy_add_direct(struct network_proxy *proxy, const char *word, sbr_error *err)
    must_check;
void network_proxy_encode(const struct network_proxy *proxy, struct buf *out);
int network_proxy_decode(struct buf_reader *in, struct network_proxy *ret, sbr_error *err)
    must_check;
void network_proxy_done(struct network_proxy *proxy);

#endif
