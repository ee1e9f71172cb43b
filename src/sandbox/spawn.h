/* Starts our helper programs from sealed memory files. */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/control.h"

#define SPAWN_STACK 16384
#define SPAWN_MAX_FDS N_INIT_FDS

enum helper { HELPER_INIT, HELPER_EGRESS, N_HELPERS };

struct process {
    pid_t pid;
    int pidfd;
};

/* One start.  The child reads it, so it must live until the helper is executing or dead. */
struct spawn {
    enum helper helper;
    uint64_t namespaces;    /* CLONE_NEW*                                            */
    int cgroup_fd;          /* v2: be born in this group; -1: in the caller's         */
    int fds[SPAWN_MAX_FDS]; /* become 0, 1, 2, ...; every other descriptor is closed  */
    int n_fds;
    bool keep_capabilities; /* in the new user namespace, across exec, to set up with */
    /* One more of them: overlayfs makes a directory without any right, and works in it with the rights that
     * its mounter had.  Over files of the run's own user alone, as all of them. */
    bool override_modes;
    /* Another one: a nursery's zygote enters the namespaces of sandboxes, which takes the right to look at them. */
    bool factory;
    int image_fd;
    volatile int
        sys_errno; /* why the image could not be executed; 0: it could, or it is too early */
    char stack[SPAWN_STACK] __attribute__((aligned(16)));
};

/* Returns while the child is still on its way to the image.  The caller owns the pidfd and reaps
 * the process.  The kernel fills ret->pidfd before the process exists for anybody, so that another
 * task can watch for it. */
int spawn_start(struct spawn *spawn, struct process *ret, sbr_error *err) must_check;

#endif
