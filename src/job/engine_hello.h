/* Who listens at the engine's socket, whatever version it is of (wire/engine.h, struct
 * engine_hello). */
#ifndef JOB_ENGINE_HELLO_H
#define JOB_ENGINE_HELLO_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/engine.h"

enum engine_kind {
    ENGINE_OF_OURS,  /* speaks our version                          */
    ENGINE_OF_OTHER, /* names another version                       */
    ENGINE_OF_OLD,   /* hangs up: of a version that names itself not */
    ENGINE_HANGS     /* has not answered in time                    */
};

struct engine_identity {
    enum engine_kind kind;
    pid_t pid;
    int pidfd;        /* of the process that listens; the caller closes it */
    uint32_t version; /* that it speaks; 0: not known */
    char release[ENGINE_RELEASE_SIZE];
};

/* Connects, asks, and waits for the answer for a few seconds at most.  SBR_E_NOT_FOUND: no engine
 * runs. */
int engine_hello(struct engine_identity *ret, sbr_error *err) must_check;

/* True: the bytes are an engine's hello, of which the texts are terminated now. */
bool engine_hello_is(struct engine_hello *hello, ssize_t len);

/* A clause about an engine that is not of ours: "the engine, process 12 of version 1.0.0, ...". */
void engine_hello_describe(const struct engine_identity *who, char *text, size_t size);

#endif
