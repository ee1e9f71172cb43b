/* Threads of a zygote, and of its copies. */
#ifndef WORKER_THREADS_H
#define WORKER_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

/* In a zygote: stops all other threads for good.  0, or -1 when one of them does not wait or cannot
 * be made again in a copy; then no thread runs any more that must. */
int threads_stop(void);
bool threads_are_stopped(void);

/* Like fork(), without the handlers of libraries: the copy gets all threads back instead. */
pid_t threads_fork(void);

/* In a copy, when it is confined: makes the threads again, each where it was stopped; 0 or -1. */
int threads_resume(void);

#endif
