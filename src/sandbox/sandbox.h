/* The outside of one sandbox: everything that the supervisor opens, makes and must remove. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "plan/features.h"
#include "plan/plan.h"
#include "sandbox/cgroup.h"
#include "sandbox/egress_process.h"
#include "sandbox/ids.h"
#include "sandbox/publish_process.h"
#include "sandbox/spawn.h"
#include "wire/control.h"

struct sandbox;
struct far_channels;

/* A way to make the container in which init makes its sandbox: src/backend/. */
struct sandbox_host {
    /* Starts the container and init in it, and sets `init` of the box; -1 and *err otherwise, with
     * nothing left behind. */
    int (*open)(struct sandbox *box, const struct plan *plan, const struct far_channels *far,
                sbr_error *err);
    /* Ends the container by its maker's means, where a signal to init is refused. */
    void (*kill)(const struct sandbox *box);
    /* Init is dead: removes the container. */
    void (*close)(struct sandbox *box);
};

struct sandbox {
    struct process init;
    const struct sandbox_host *host; /* NULL: init is our own child, in no container */
    void *container;                 /* the host's own data */
    int control;                     /* orders to init */
    uint32_t signals;                /* that init was ordered to send */
    int in;  /* the program's stdin, to write to; of a session, the kernel's channel */
    int out; /* its stdout and stderr, to read from */
    int err;
    int terminal;               /* the master side of the program's; -1: init makes it, or none */
    int collected;              /* collected files, to read from; -1: none */
    struct init_report *report; /* a page shared with init */
    struct spawn *spawn;
    struct egress egress;
    struct publish_process publish;
    struct cgroup cgroup;
    struct janitor *janitor;
    struct ids ids;
    const char *run_dir; /* of the plan: init, not the kernel, ends the run and cleans up */
    bool standby;        /* made ahead: another process reaps init and removes the cgroups */
    /* of the seccomp filter, when it came before the hand-over; -1: it comes over `control` */
    int listener;
    int report_fd;              /* of a standby sandbox, to hand over; otherwise -1 */
    int far[INIT_CONTROL + 1];  /* the inside's ends until a zygote worker has them; otherwise -1 */
    struct cgroup_usage before; /* of a standby sandbox: usage before the program began */
};

#define SANDBOX_MAX_GIVEN (9 + N_CG)

/* Limits that a standby sandbox has in advance, at their defaults: most runs change none. */
#define SANDBOX_USUAL_LIMITS (1u << CG_MEMORY | 1u << CG_PIDS)

/* What a sandbox is made of, beside its plan; borrowed. */
/* Asked several times a second while a container is made.  False: the caller does not want it any
 * more.  NULL: the caller always does. */
struct sandbox_wait {
    bool (*goes_on)(void *context);
    void *context;
};

#define SANDBOX_ASK_MS 100

struct sandbox_means {
    const struct features *features;
    const struct publish_listeners *listeners; /* those of plan->publish */
    int secrets_link;                          /* of plan->has_secrets: egress's end; else -1 */
    struct sandbox_wait wait;
};

/* Starts init with its plan.  A failure leaves nothing behind.  The program runs once init has
 * finished its steps, which it reports on `control`. */
int sandbox_start(struct sandbox *box, const struct plan *plan, const struct sandbox_means *means,
                  sbr_error *err) must_check;

/* The same in a container that `host` makes; `container` is the host's. */
int sandbox_start_on(struct sandbox *box, const struct plan *plan,
                     const struct sandbox_means *means, const struct sandbox_host *host,
                     void *container, sbr_error *err) must_check;

/* Describes a standby sandbox for another process.  `fds` are borrowed: call sandbox_done() after
 * they were sent. */
void sandbox_give(const struct sandbox *box, struct handover_msg *msg, int fds[SANDBOX_MAX_GIVEN],
                  size_t *ret_n);
/* Receives it there.  The sandbox owns `fds` afterwards, also on failure. */
int sandbox_take(struct sandbox *box, const struct handover_msg *msg, const int *fds, size_t n,
                 sbr_error *err) must_check;
/* Gives a standby sandbox its limits and its program; `plan` must match the sandbox's blueprint.
 * `files` are fds of the OP_PROGRAM operations that are OP_PASSED, in their order; the caller keeps
 * them.  After a failure nothing was run. */
int sandbox_go(struct sandbox *box, const struct plan *plan, const int *files, size_t n_files,
               sbr_error *err) must_check;

/* Kills everything inside at once. */
void sandbox_kill(const struct sandbox *box);
/* Orders init to kill everything inside, to report the usage, and to exit. */
void sandbox_order_kill(const struct sandbox *box);
/* Asks everything inside to end. */
void sandbox_terminate(const struct sandbox *box);
/* Sends a signal to the process group of the program (0) or of a session's further kernel. */
void sandbox_signal(struct sandbox *box, unsigned int kernel, int number);
/* True when init has sent all of them. */
bool sandbox_signals_are_sent(const struct sandbox *box);
/* Starts a further kernel (1 to INIT_KERNELS) of a session with the plan's command line; *ret is
 * its channel.  A start that fails inside is said there. */
int sandbox_add_kernel(const struct sandbox *box, const struct plan *plan, unsigned int kernel,
                       int *ret, sbr_error *err) must_check;
/* Stops everything inside, or lets it go on. */
void sandbox_pause(const struct sandbox *box, bool pause);
/* Init hands out what changed in the trees until now; false: it cannot be asked. */
bool sandbox_collect(const struct sandbox *box);

/* The reason why init failed, once it is dead. */
int sandbox_failure(const struct sandbox *box, sbr_error *err);

/* Kills, reaps and removes what affects the host; the report stays readable. */
void sandbox_end(struct sandbox *box);
/* Frees the rest. */
void sandbox_done(struct sandbox *box);

/* Asks each mechanism what this machine offers.  Changes nothing. */
void probe_features(struct features *features);

/* Starts a process to find out what no file says.  Not for a run, which finds out by itself. */
void probe_by_trial(struct features *features);

#endif
