/* Copies of a zygote that are tried before there are workers, and what workers do where copies do
 * not work. */
#ifndef WORKER_COPIES_H
#define WORKER_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The exit code of a trial that did all that it should. */
#define TRIAL_CODE 42

/* Waits for the end of a copy; false when it did not end with that code in ten seconds. */
bool copies_await(pid_t pid, int code);

/* All further workers execute a runtime of their own: this process's command line without its last
 * word and, if it has them, without words equal to `left_out`; NULL: none.  False: it cannot be
 * read. */
bool copies_execute(const char *left_out);

/* In a zygote whose copies work, or execute a command: makes workers.  Returns in each worker, and
 * ends the zygote when no order will come. */
void copies_serve(void);

/* True when no two of so many numbers of eight bytes are equal. */
bool copies_differ(const void *numbers, size_t n);

#endif
