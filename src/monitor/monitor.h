/* Watches one run from start to end: one loop, one state table. */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include <stdbool.h>

#include "base/loop.h"
#include "monitor/feed.h"
#include "monitor/output.h"
#include "monitor/verdict.h"
#include "sandbox/protocol.h"
#include "sandbox/sandbox.h"

enum monitor_state { RUNNING, STOPPING, ENDING, DONE, N_STATES };

struct monitor {
    enum monitor_state state;
    struct loop loop;
    struct sandbox *box;
    const struct plan *plan;
    struct capture out, err;
    struct feed feed;
    int cancel_fd; /* eventfd: cancelled from another thread */

    uint64_t started_us; /* when the request came */
    struct observation seen;
    sbr_error failure;  /* code 0: set-up did not fail */
    sbr_result *result; /* complete once DONE          */
};

struct monitor_options {
    bool keep_output;
    struct sink *out_sink, *err_sink; /* NULL: not passed on */
    const char *stdin_data;           /* first this,         */
    size_t stdin_len;
    int stdin_fd; /* then this; -1: end-of-file follows */
    uint64_t started_us;
};

/* Takes the program's streams over from the sandbox, which it borrows. */
int monitor_start(struct monitor *m, struct sandbox *box, const struct plan *plan,
                  const struct monitor_options *options, sbr_error *err) must_check;
/* Handles what is ready.  1: the run is over; 0: more to come; negative: the loop is broken. */
int monitor_turn(struct monitor *m, bool wait, sbr_error *err) must_check;
/* From any thread, and more than once: the second time ends the run at once. */
void monitor_cancel(struct monitor *m);
/* The caller owns the result; or the reason why there is none. */
int monitor_take_result(struct monitor *m, sbr_result **ret, sbr_error *err) must_check;
void monitor_done(struct monitor *m);

#endif
