/* The state of init. */
#ifndef INIT_STATE_H
#define INIT_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "confine/confiner.h"
#include "init/supervise.h"
#include "wire/control.h"

/* What init reports to the supervisor, in the page that they share. */

/* Maps the page and closes its file descriptor; NULL on failure. */
struct init_report *report_open(void);

/* Usage before the program started. */
struct usage_before {
    uint64_t read, written; /* by init and by all children that it waited for     */
    uint64_t switches;      /* of a driver, which runs before it gets its program */
};

struct usage_before report_usage(const struct inside *in);
/* The same, plus the usage of a waiting driver. */
struct usage_before report_usage_with(const struct inside *in, pid_t driver);
/* What counts from now on is the program's. */
void report_begin(struct init_report *report, struct usage_before before);
/* Reports the resources of all reaped processes, and whether the scratch space is full. */
void report_end(struct init_report *report, const struct inside *in, struct usage_before before);

struct init {
    struct inside in;
    struct init_report *report;
    struct supervise supervise;
    struct usage_before before;
    int child_fd;                /* SIGCHLD                                          */
    pid_t program;               /* 0: none yet; of a standby: its driver            */
    int go_fd;                   /* to a driver that waits for its program; -1: none */
    bool refuses_fds;            /* the policy forbids to receive them            */
    pid_t kernels[INIT_KERNELS]; /* those of other languages; 0: none */
};

/* Init as the first process of a container that another program made (wire/guest_msg.h). */

/* Connects to the socket at `path` and makes init.  Returns in init, with its file descriptors in
 * their places and its ids mapped; the guest itself waits for init's end and exits. */
void guest_enter(const char *path);

/* The time limit, as init keeps it for a supervisor that is stopped or hangs.  A supervisor that
 * works ends the run earlier. */

/* Milliseconds for poll: until the limit, or `other` when that is earlier; -1: forever. */
int wall_clock_wait(const struct init *init, int other);
/* True when the program had all of its time; pauses do not count. */
bool wall_clock_is_over(const struct init *init);

/* Init as a factory: see sandbox/factory.h. */

/* Makes sandboxes by order.  Returns 0 in each of them: the role is ROLE_SHELL, its file
 * descriptors are enum init_fd, its ids are mapped, and it is in its cgroups.  In the factory
 * itself it returns only when it cannot go on: 1 when the engine is gone, negative on an error. */
int factory_run(struct inside *in, int plan_fd, sbr_error *err) must_check;

/* Init between its confinement and the arrival of its program. */

/* Starts the blueprint's driver, if it has one, and waits until it is warm; 0 or negative. */
int standby_start(struct init *init, sbr_error *err) must_check;
/* Reports that the sandbox is ready and waits for ORDER_GO.  0: the program's files are in place,
 * its limits are set, and either the driver has its order (`program` is its pid, and it runs) or
 * the program can be started.  1: the sandbox is not wanted any more.  Negative: an error. */
int standby_wait(struct init *init, sbr_error *err) must_check;
/* To be asked once, after the program ended.  True when it was a driver that left
 * its program to init. */
bool standby_refused(struct init *init);

/* Further kernels of a session: programs of other languages beside the session's own, in the same
 * sandbox.  Each is a child of init, confined as the first one is. */

/* Reads an order, as read() does; carries an ORDER_KERNEL out.  Only the init of a session takes
 * file descriptors: other policies may forbid the call. */
ssize_t kernels_receive(struct init *init, struct init_message *ret);
/* The process of the kernel with this number, from 1 on; 0: none. */
pid_t kernels_pid(const struct init *init, uint32_t number);
/* A child of this number has ended. */
void kernels_forget(struct init *init, pid_t pid);

#endif
