/* Starts our helper programs from sealed memory files. */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "wire/control.h"
#include "wire/publishing.h"

struct janitor;

#define SPAWN_STACK 16384
#define SPAWN_MAX_FDS PUBLISH_MAX_FDS

enum helper { HELPER_INIT, HELPER_EGRESS, HELPER_PUBLISH, HELPER_SECRETS, N_HELPERS };

struct process {
    pid_t pid;
    int pidfd;
};

/* One start.  The child reads it, so it must live until the helper executes or is dead. */
struct spawn {
    enum helper helper;
    uint64_t namespaces;    /* CLONE_NEW* */
    int cgroup_fd;          /* v2: the cgroup of the child; -1: the caller's */
    int fds[SPAWN_MAX_FDS]; /* become 0, 1, 2, ...; every other fd is closed */
    int n_fds;
    bool keep_capabilities; /* of the new user namespace, across exec, for the setup */
    /* Keeps CAP_DAC_OVERRIDE too: overlayfs makes a directory without any permission bit, and works
     * in it with its mounter's capabilities.  As all of them, only over files of the run's user. */
    bool override_modes;
    /* Keeps CAP_SYS_PTRACE too: a factory's zygote enters the namespaces of sandboxes, which takes
     * the right to trace them. */
    bool factory;
    int image_fd;
    volatile int sys_errno; /* why the exec failed; 0: it did not, or not yet */
    char stack[SPAWN_STACK] __attribute__((aligned(16)));
};

/* Names the kernel's rule behind a refused clone, because EPERM alone does not help.  Returns the
 * code. */
int spawn_refused(uint64_t namespaces, int sys_errno, sbr_error *err);

/* Returns before the child has executed the image.  The caller owns the pidfd and reaps the
 * process.  The kernel fills ret->pidfd before the process becomes visible, for the janitor. */
int spawn_start(struct spawn *spawn, struct process *ret, sbr_error *err) must_check;
/* For a process that was forked and closed the fds of its maker: helpers are opened anew. */
void spawn_forget_helpers(void);

/* The janitor outlives a killed supervisor and removes what the kernel does not: cgroups. */

/* How the janitor ends the run.  Both point to an fd (-1 until it exists) and outlive it. */
struct janitor_reach {
    const int *init_pidfd;
    const int *control; /* NULL: kill init; otherwise close it, upon which init ends everything */
};

/* Starts the janitor, before the leaves are made; *ret is NULL when there are none. */
int janitor_start(struct janitor **ret, const struct cgroup *cg, struct janitor_reach reach,
                  sbr_error *err) must_check;
/* Kills the janitor after the leaves are gone, without waiting for its end.  Takes NULL. */
void janitor_dismiss(struct janitor *janitor);
/* Reaps the janitor; only after janitor_dismiss.  Takes NULL. */
void janitor_free(struct janitor *janitor);

#endif
