/* The language's own runtime, where it wants to know of a fork.  Found by name: nothing of it is needed to build. */
#ifndef WORKER_RUNTIME_H
#define WORKER_RUNTIME_H

void runtime_before_fork(void);
void runtime_after_fork_in_parent(void);
void runtime_after_fork_in_child(void);

#endif
