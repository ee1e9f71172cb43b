/* Heads of HTTP/2: lists of names and values, rewritten as those of HTTP/1.1 are.  Pure. */
#ifndef SECRETS_HTTP2_HEAD_H
#define SECRETS_HTTP2_HEAD_H

#include <nghttp2/nghttp2.h>

#include "model/secret.h"
#include "secrets/rewrite.h"

/* As it came. */
struct http2_head {
    struct buf text; /* names and values, one behind the other */
    struct {
        size_t name_len, value_len;
    } fields[HTTP_MAX_LINES];
    size_t n;
    unsigned int status; /* of a reply; 0: none */
};

/* As it leaves: its fields point into its text. */
struct http2_ready {
    struct buf text;
    nghttp2_nv fields[HTTP_MAX_LINES + 1 + SECRETS_MAX];
    size_t n;
    bool puts_in; /* it is a request to this host */
};

void http2_head_init(struct http2_head *head);
/* False: it is too long. */
bool http2_head_add(struct http2_head *head, const void *name, size_t name_len, const void *value,
                    size_t value_len);
/* Wipes it; another one may follow. */
void http2_head_clear(struct http2_head *head);

/* False: it cannot be passed on.  The caller calls http2_head_done() in every case. */
bool http2_head_request(struct rewrite *rewrite, const struct http2_head *head,
                        struct http2_ready *ret);
bool http2_head_reply(struct rewrite *rewrite, const struct http2_head *head,
                      struct http2_ready *ret);
/* Fields behind the body of a request: nothing is put into them. */
bool http2_head_trailers(struct rewrite *rewrite, const struct http2_head *head,
                         struct http2_ready *ret);
void http2_head_done(struct http2_ready *ready);

#endif
