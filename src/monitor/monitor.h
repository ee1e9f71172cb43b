/* Watches one run from start to end: one loop, one state table. */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include <stdbool.h>

#include "base/loop.h"
#include "monitor/capture.h"
#include "monitor/collect_reader.h"
#include "monitor/seccomp_notify.h"
#include "monitor/stdin_pump.h"
#include "monitor/verdict.h"
#include "sandbox/sandbox.h"
#include "wire/control.h"

enum monitor_state { RUNNING, STOPPING, ENDING, COLLECTING, DONE, N_STATES };

struct monitor {
    enum monitor_state state;
    struct loop *loop; /* borrowed */
    struct loop_watch init_watch, oom_watch, egress_watch, control_watch;
    struct sandbox *box;
    const struct plan *plan;
    struct capture out, err;
    struct stdin_pump stdin_pump;
    struct seccomp_notify seccomp_notify;
    struct collect_reader *collect_reader; /* borrowed; NULL: nothing is collected */
    uint64_t progress;                     /* of init's collection, at the last check */

    uint64_t started_us; /* when the request came */
    const char *startup;
    struct observation seen;
    sbr_error failure;  /* code 0: setup did not fail */
    sbr_result *result; /* complete once DONE */
};

struct monitor_options {
    struct loop *loop;
    bool keep_output;
    bool keep_tail;                            /* of stderr, when it is not kept as a whole */
    struct forward *forward_out, *forward_err; /* NULL: not passed on */
    const char *stdin_data;                    /* first this, */
    size_t stdin_len;
    int stdin_fd; /* then this; -1: end-of-file follows */
    uint64_t started_us;
    enum limits_setter setter;
    const char *startup; /* how the sandbox came about, as the result says it; NULL: "cold" */
    struct collect_reader
        *collect_reader; /* for what the plan collects; must outlive the monitor */
};

/* Takes the program's streams from the sandbox.  Borrows the sandbox and the loop. */
int monitor_start(struct monitor *m, struct sandbox *box, const struct plan *plan,
                  const struct monitor_options *options, sbr_error *err) must_check;
/* True once the run is over and all of its output was passed on. */
bool monitor_is_over(const struct monitor *m);
/* May be called again: the second call kills everything at once. */
void monitor_cancel(struct monitor *m);
/* The caller owns the result; otherwise *err has the reason why there is none. */
int monitor_take_result(struct monitor *m, sbr_result **ret, sbr_error *err) must_check;
void monitor_done(struct monitor *m);

#endif
