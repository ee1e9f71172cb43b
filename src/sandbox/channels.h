/* Both ends of what connects sandbox and supervisor: streams, orders, plan and report. */
#ifndef SANDBOX_CHANNELS_H
#define SANDBOX_CHANNELS_H

#include "plan/plan.h"
#include "sandbox/sandbox.h"

/* The ends for the inside, indexed by their fd number there. */
struct far_channels {
    int fds[N_INIT_FDS];
};

/* clang-format off */
#define FAR_CHANNELS_NONE { { -1, -1, -1, -1, -1, -1, -1, -1, -1 } }
/* clang-format on */
_Static_assert(N_INIT_FDS == 9, "FAR_CHANNELS_NONE has a place for each");

void channels_close_far(struct far_channels *far);
/* Makes a sandbox that holds nothing. */
void sandbox_reset(struct sandbox *box);

/* Makes pipes for the program, one for collected files if there are any, and the socket pair for
 * orders.  Without a private root also the program's terminal, if it has one.  The ids must be
 * known. */
int channels_make_streams(struct sandbox *box, const struct plan *plan, struct far_channels *far,
                          sbr_error *err) must_check;
/* In place of stdin: the kernel of a session talks to its supervisor over this.  0, or -1 with
 * errno. */
int channels_make_kernel(int *near, int *far);
int channels_make_control(int *near, struct far_channels *far, sbr_error *err) must_check;
int channels_store_plan(const struct plan *plan, struct far_channels *far, sbr_error *err)
    must_check;
int channels_share_report(struct init_report **ret, struct far_channels *far, sbr_error *err)
    must_check;

#endif
