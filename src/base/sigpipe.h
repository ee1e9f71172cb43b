/* Writes that do not end the process, whatever the caller of the library does with SIGPIPE. */
#ifndef BASE_SIGPIPE_H
#define BASE_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
    sigset_t before;
    bool was_pending;
};

/* Blocks SIGPIPE for this thread. */
void sigpipe_block(struct sigpipe *guard);
/* Discards what writes have raised in between, and restores the mask; errno stays. */
void sigpipe_restore(const struct sigpipe *guard);

#endif
