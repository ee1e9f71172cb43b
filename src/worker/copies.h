/* Copies of a zygote that are tried before there are workers, and what workers do where copies do
 * not work. */
#ifndef WORKER_COPIES_H
#define WORKER_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* The exit code of a trial that did all that it should. */
#define TRIAL_CODE 42

/* Makes a copy without a sandbox, which runs a program of ours and shall end with that code in ten
 * seconds.  `renew`: what else the copy makes anew; NULL: nothing.  0: in the copy; 1: it did all
 * that it should; -1: it did not. */
int copies_try(bool sample, int code, bool (*renew)(void));

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
