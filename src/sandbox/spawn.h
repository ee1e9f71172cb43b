/* Starts sandbox-run-init from a sealed memory file. */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SPAWN_MAX_FDS 8

struct spawn {
    uint64_t namespaces;     /* CLONE_NEW*                                                  */
    int cgroup_fd;           /* v2: be born in this group; -1: in the caller's               */
    const char *const *argv; /* the environment is always empty                             */
    int fds[SPAWN_MAX_FDS];  /* become 0, 1, 2, ...; -1: that number is closed               */
    unsigned int n_fds;      /* every other descriptor is closed                            */
    bool keep_capabilities;  /* in the new user namespace, across exec, to set up with      */
};

struct process {
    pid_t pid;
    int pidfd;
};

/* The sealed image of sandbox-run-init; opened on first use, kept for the life of the process, and
 * safe to use from several threads.  fd (borrowed), or -1 with errno. */
int spawn_image(void);

/* Returns once the image is executing.  The caller owns the pidfd and reaps the process.  The kernel
 * fills ret->pidfd before the process exists for anybody, so that another task can watch for it. */
int spawn_start(const struct spawn *spawn, struct process *ret, sbr_error *err) must_check;

#endif
