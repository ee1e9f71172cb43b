/* Signals as events of a loop: no handler runs. */
#ifndef BASE_SIGNAL_FD_H
#define BASE_SIGNAL_FD_H

#include <stddef.h>

/* Blocks the signals in this thread.  A descriptor that is readable when one has come: it closes on
 * exec and does not block; -1 with errno. */
int signal_fd_open(const int *numbers, size_t n);

#endif
