/* A small HTTP client for a container engine's Unix socket: one request, one connection. */
#ifndef BACKEND_BACKEND_HTTP_H
#define BACKEND_BACKEND_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "sandbox/sandbox.h"

#define BACKEND_REPLY_MAX 8192

struct backend_reply {
    bool asked;                       /* the engine was reached, so that it may do what was asked */
    int status;                       /* 0: no answer */
    char body[BACKEND_REPLY_MAX + 1]; /* its beginning */
};

struct backend_call {
    const char *method, *path; /* the path with its query */
    const char *type;          /* of the body; NULL: there is none */
    const void *body;
    size_t len;
    struct sandbox_wait wait; /* until the answer begins */
};

/* Asks and reads the whole answer.  Negative: the socket cannot be reached, or gave no HTTP. */
int backend_http_ask(const char *socket_path, const struct backend_call *call,
                     struct backend_reply *reply, sbr_error *err) must_check;

/* Asks, reads the head of the answer, and leaves the rest to be read from the returned fd. */
int backend_http_stream(const char *socket_path, const struct backend_call *call,
                        struct backend_reply *reply, sbr_error *err) must_check;

#endif
