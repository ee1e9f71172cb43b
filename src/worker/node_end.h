/* The end of a worker of Node without the parts that nobody sees. */
#ifndef WORKER_NODE_END_H
#define WORKER_NODE_END_H

#include <stdbool.h>
#include <stdint.h>

/* In the zygote, after process.exitCode got this value; `is_set` is false after it was taken back.
 * Finds where Node keeps the code: three calls, with two different values. */
void node_end_look(int32_t value, bool is_set);

/* In the zygote: prepares the short end.  0, or -1: every worker takes the whole one. */
int node_end_prepare(void);

/* Node calls this when the program has ended, its exit handlers have run, its threads have ended
 * and its handles are closed.  Ends the process, or returns when it must take the whole end. */
void node_end_now(void *nothing);

/* The whole end for this process and its copies. */
void node_end_whole(void);

#endif
