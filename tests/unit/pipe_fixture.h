/* A loop, and a pipe that waits for nobody. */
#ifndef PIPE_FIXTURE_H
#define PIPE_FIXTURE_H

#include <stddef.h>

#include "base/loop.h"

struct pipe_fixture {
    struct loop loop;
    int read_end, write_end; /* -1: closed */
};

/* Also ignores SIGPIPE, as the programs that use sinks do. */
void pipe_fixture_init(struct pipe_fixture *f);
void pipe_fixture_done(struct pipe_fixture *f);

/* Closes one end now. */
void pipe_fixture_close(int *end);
/* Makes the pipe as small as it can be; its size. */
size_t pipe_fixture_shrink(struct pipe_fixture *f);
/* What is in the pipe, as text that is good until the next call. */
const char *pipe_fixture_read(struct pipe_fixture *f);
/* One turn, which must have something to do. */
void pipe_fixture_turn(struct pipe_fixture *f);

#endif
