/* Whose refusal it was, in a session with kernels of several languages.
 *
 * All kernels share one filter and its listener, because a process that has a filter with a
 * listener cannot be given another one.  Init makes each kernel the leader of a session of
 * processes, and the kernel tells in which session a process is; no process can join another one.
 * A process that makes a session of its own belongs to no kernel. */
#ifndef MONITOR_KERNEL_DENIALS_H
#define MONITOR_KERNEL_DENIALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "model/denial.h"
#include "wire/control.h"

struct kernel_denials {
    unsigned int turn;     /* the kernel whose cell runs, or ran last */
    struct denials others; /* of processes that are not that kernel's */
};

/* Whether a refusal of this task is one of the kernel whose turn it is.  A session with one kernel
 * has no other, so there it always is. */
bool kernel_denials_is_own(const struct kernel_denials *k, const struct init_report *report,
                           pid_t task);
/* The session of processes in the text of /proc/PID/status, as the innermost namespace counts; 0:
 * unknown. */
uint32_t kernel_denials_parse(const char *status);

#endif
