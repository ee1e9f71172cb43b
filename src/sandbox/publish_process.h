/* The supervisor's side of sandbox-run-publish, which passes connections from published ports to
 * the program. */
#ifndef SANDBOX_PUBLISH_PROCESS_H
#define SANDBOX_PUBLISH_PROCESS_H

#include "model/publish.h"
#include "plan/plan.h"
#include "sandbox/ids.h"
#include "sandbox/spawn.h"
#include "wire/publishing.h"

/* Sockets that listen on the host's loopback for published ports.  They are made before the first
 * stage, so that a busy port ends the job before anything was compiled. */
struct publish_listeners {
    struct {
        int fd;
        uint32_t rule; /* number of the rule that it is of */
    } items[PUBLISH_LISTENERS];
    size_t n;
    struct publish published; /* with the ports and addresses that listen */
};

/* Opens a socket for each address of each rule.  After a failure none is open. */
int publish_listeners_open(struct publish_listeners *ret, const struct publish *wanted,
                           sbr_error *err) must_check;
void publish_listeners_close(struct publish_listeners *listeners);

struct publish_process {
    struct process process; /* pidfd -1: there is none */
    struct spawn *spawn;
    int alive;               /* our end; shut down once the program is over */
    int far_link, far_alive; /* publish's ends, until it is started */
    struct publish_page *page;
    bool died;      /* before the program; known once it was stopped */
    struct ids ids; /* when root starts it: a user of its own */
};

void publish_process_reset(struct publish_process *publish);
/* Chooses its user and makes its sockets, when the plan publishes something.  *ret_link is for
 * init, -1 when there is none; the caller closes it.  After a failure publish_process_stop and
 * publish_process_done are still due. */
int publish_process_prepare(struct publish_process *publish, const struct plan *plan,
                            const struct features *features, int *ret_link, sbr_error *err)
    must_check;
int publish_process_start(struct publish_process *publish, const struct plan *plan,
                          const struct publish_listeners *listeners, sbr_error *err) must_check;
/* Gives it a moment to pass on what the program has sent already, then ends it. */
void publish_process_stop(struct publish_process *publish);
/* Adds what was counted until now to the rules of `published`. */
void publish_process_count(const struct publish_process *publish, struct publish *published);
/* Why it ended before the program. */
int publish_process_failure(const struct publish_process *publish, sbr_error *err);
void publish_process_done(struct publish_process *publish);

#endif
