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

/* Notes of the containers that an engine has or may have, one file each, beside the directories of
 * the runs.  A run removes its note once the engine has said that the container is gone.  So a note
 * without a directory names a container that its run has left behind, and nothing has to be asked
 * where there is none. */
enum backend_left_end {
    LEFT_REMOVED, /* it was there */
    LEFT_ABSENT,  /* the engine has no such container, or none yet */
    LEFT_UNKNOWN, /* the engine did not say */
};

typedef enum backend_left_end backend_left_remove(void *context, const char *id);

/* `dir_fd` is the directory of all runs; `socket` is the engine's. */
int backend_left_note(int dir_fd, const char *id, const char *socket, sbr_error *err) must_check;
void backend_left_forget(int dir_fd, const char *id);
/* Removes what runs on this engine have left. */
void backend_left_sweep(int dir_fd, const char *socket, backend_left_remove *remove, void *context);

#endif
