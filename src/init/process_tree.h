/* The processes of a run without a pid namespace: init's descendants.  Init is their reaper, so
 * none of them can leave the tree. */
#ifndef INIT_PROCESS_TREE_H
#define INIT_PROCESS_TREE_H

#include <stddef.h>
#include <sys/types.h>

typedef void tree_visit(void *context, pid_t pid);

/* Calls `visit` for every descendant and returns how many there were. */
size_t process_tree_walk(int proc_fd, tree_visit *visit, void *context);

/* Calls `visit` for every process of init's pid namespace but init. */
void process_tree_all_but_init(int proc_fd, tree_visit *visit, void *context);

/* Sends a signal to every descendant and returns how many there were. */
size_t process_tree_signal(int proc_fd, int number);

/* Stops all of them. */
void process_tree_stop(int proc_fd);

/* In a pid namespace: waits until all that were sent SIGSTOP stand still, at most two seconds.
 * Linux gives a child that is being forked the SIGSTOP of its parent, but not the SIGCONT that
 * follows while the fork goes on: it would stand for ever. */
void process_tree_await_stop(void);

/* Ends all of them and waits for them. */
void process_tree_end(int proc_fd);

#endif
