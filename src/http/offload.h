/* Calls of the library that wait: they run in a thread, and the loop replies when they are done. */
#ifndef HTTP_OFFLOAD_H
#define HTTP_OFFLOAD_H

#include "admit/ledger.h"
#include "http/exchange.h"

#define OFFLOAD_MAX 256       /* at once; more are refused */
#define OFFLOAD_TENANT_MAX 64 /* of one token's tenant, so that others have room */

struct offload {
    /* In the thread.  0: `body` is the reply; NULL: it has none; negative: *err says why. */
    int (*work)(struct offload *o, sbr_error *err);
    /* On the loop, before the reply; may be NULL. */
    void (*done)(struct offload *o, const sbr_error *err);
    /* On the loop: the client left before the end; may be NULL. */
    void (*left)(struct offload *o);
    /* On the loop: a line that the thread gave to offload_post. */
    void (*line)(struct offload *o, const char *line, size_t len);
    struct server *server;
    struct grant tenant;
    unsigned int status;
    const char *type; /* NULL: JSON */
    char *body;
    size_t len;     /* 0: that of the text */
    char *words[4]; /* arguments of the call; freed at the end */
    size_t word_len;
    sbr_request *req;   /* freed at the end */
    struct exchange *x; /* NULL: the client is gone */
    bool exact;         /* `len` holds also when it is 0 */
    struct held *held;  /* what is reserved for it; given back at the end */
    char *location;     /* header of the reply; NULL: none; freed at the end */
    int r;
    sbr_error err;
    uint64_t number;
    void *extra;
    struct link link; /* of those at work; the loop's alone */
};

int offload_open(struct server *server, sbr_error *err) must_check;
/* Copies *given; `words` and `req` go over to it.  Replies when there are too many. */
void offload_start(struct exchange *x, const struct offload *given);
/* The same without a reply: the handler replies itself.  0, or -1 when it replied to say why not;
 * `done` was called then. */
int offload_start_alone(struct exchange *x, const struct offload *given);
/* Without a request: 0, or -1 when there are too many. */
int offload_start_own(struct server *server, const struct offload *given);
/* In the thread: `line` of the offload gets a copy, on the loop. */
void offload_post(struct offload *o, const char *line, size_t len);
/* True while threads work. */
bool offload_is_busy(const struct server *server);

/* Work on texts that may be large: in a thread when they are, so that no other client waits. */
struct apart {
    /* In a thread, or at once: looks at nothing that the loop changes. */
    void (*work)(struct apart *a);
    /* On the loop, behind it; frees `a`.  NULL for `x`: the client is gone, or has its reply. */
    void (*then)(struct apart *a, struct exchange *x);
};

void apart_do(struct exchange *x, bool large, struct apart *a);

#endif
