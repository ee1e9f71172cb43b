/* Signals as events of a loop: no handler runs. */
#ifndef BASE_SIGNAL_FD_H
#define BASE_SIGNAL_FD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Blocks the signals in this thread.  A descriptor that is readable when one has come: it closes on
 * exec and does not block; -1 with errno. */
int signal_fd_open(const int *numbers, size_t n);

/* Writes that do not end the process, whatever the caller of the library does with SIGPIPE. */
struct sigpipe {
    sigset_t before;
    bool was_pending;
};

/* Blocks SIGPIPE for this thread. */
void sigpipe_block(struct sigpipe *guard);
/* Discards what writes have raised in between, and restores the mask; errno stays. */
void sigpipe_restore(const struct sigpipe *guard);

#endif
