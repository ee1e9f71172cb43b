/* Watches one run from start to end: one loop, one state table. */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"
#include "model/denial.h"
#include "model/result.h"
#include "model/tty_state.h"
#include "monitor/capture.h"
#include "monitor/collect_reader.h"
#include "monitor/seccomp_notify.h"
#include "monitor/stdin_pump.h"
#include "monitor/verdict.h"
#include "sandbox/egress_process.h"
#include "sandbox/sandbox.h"
#include "wire/control.h"

/* Whose refusal it was, in a session with kernels of several languages.
 *
 * All kernels share one filter and its listener, because a process that has a filter with a
 * listener cannot be given another one.  Init makes each kernel the leader of a session of
 * processes, and the kernel tells in which session a process is; no process can join another one.
 * A process that makes a session of its own belongs to no kernel. */
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

enum monitor_state { RUNNING, INTERRUPTED, STOPPING, ENDING, COLLECTING, DONE, N_STATES };

struct monitor {
    enum monitor_state state;
    struct loop *loop; /* borrowed */
    struct loop_watch init_watch, oom_watch, egress_watch, publish_watch, control_watch;
    struct sandbox *box;
    const struct plan *plan;
    struct capture out, err;
    struct stdin_pump stdin_pump;
    uint32_t pauses; /* that init has to carry out, by the count of its report */
    int kernel;      /* of a session: the channel of its kernel; -1: none */
    int terminal;    /* the master side of the program's; -1: none, or not yet */
    void (*on_terminal)(void *context);
    struct seccomp_notify seccomp_notify;
    struct kernel_denials kernel_denials;
    struct collect_reader *collect_reader; /* borrowed; NULL: nothing is collected */
    uint64_t progress;                     /* of init's collection, at the last check */

    bool readers_limited;    /* after the end, a reader has only the grace period */
    uint64_t started_us;     /* when the request came */
    uint64_t setup_until_us; /* so long the setup may take, whatever the limit of time */
    const char *startup;
    struct observation seen;
    sbr_error failure;  /* code 0: setup did not fail */
    sbr_result *result; /* complete once DONE */
};

struct monitor_options {
    struct loop *loop;
    bool keep_output;
    bool keep_tail; /* of stderr, when it is not kept as a whole */
    struct capture_sink sink_out, sink_err;
    struct capture_sink file_out, file_err;    /* keep everything */
    struct forward *forward_out, *forward_err; /* NULL: not passed on */
    const char *stdin_data;                    /* first this, */
    size_t stdin_len;
    int stdin_fd;                  /* then this, */
    struct stdin_feed *stdin_feed; /* or this; neither (-1, NULL): end-of-file follows */
    bool hold_stdin;               /* see monitor_hold_stdin */
    stdin_tap *stdin_tap;          /* NULL: none */
    void *stdin_tap_context;
    /* The program's terminal is there, with the context of the tap.  May be NULL. */
    void (*on_terminal)(void *context);
    uint64_t started_us;
    struct denials_watch on_denial; /* of this stage, as they are added */
    enum stage stage;
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
/* Sends SIGINT to the program; the end follows as after monitor_cancel when that does not end it in
 * the time of the limit `grace`, or at the second call. */
void monitor_interrupt(struct monitor *m);

/* What follows is for a program that runs, and does nothing before or after (monitor_tty.c). */
/* Sends a signal to the program's process group. */
void monitor_signal(const struct monitor *m, int number);
/* Stops everything inside; the time limit does not count until monitor_resume. */
void monitor_pause(struct monitor *m);
/* Waits until everything stands, as far as init can say: not for longer than it takes to lose
 * patience with a busy machine. */
void monitor_await_pause(const struct monitor *m);
void monitor_resume(struct monitor *m);
/* The size of the program's terminal, if it has one. */
void monitor_resize(struct monitor *m, unsigned int rows, unsigned int columns);
/* False when there is no terminal. */
bool monitor_look_at_tty(const struct monitor *m, struct tty_state *ret);
/* While held, nothing is taken from the source of stdin. */
void monitor_hold_stdin(struct monitor *m, bool held);

/* The terminal is there: connects the streams that it is.  Takes over the file descriptor. */
void monitor_take_terminal(void *context, int master);
/* How long the program was paused, in total. */
uint64_t monitor_paused_us(const struct monitor *m);

/* The caller owns the result; otherwise *err has the reason why there is none. */
int monitor_take_result(struct monitor *m, sbr_result **ret, sbr_error *err) must_check;
void monitor_done(struct monitor *m);

/* What everything inside uses at this moment, and has used so far. */

/* Fills all but `struct_size`, `stage` and `wall_us`.  Counters come from the cgroups; where there
 * is none, from the last sample of init.  `known` has what either could give. */
void live_usage_read(const struct monitor *m, sbr_metrics *ret);

/* What init reports of its setup in the page that it shares with the supervisor
 * (wire/control.h). */

/* Adds what this machine did not let init set up as planned. */
void init_outcome_missing(const struct init_report *report, struct isolation *ret);

/* Logs how long its steps took. */
void init_outcome_steps(const struct init_report *report);

/* Limits of the caller's shell, which a program of a cold run inherits. */

/* Where the program failed, and not by a limit of ours, adds those that are lower than ours to the
 * explanation. */
void own_limits_explain(sbr_result *result);

/* What a run used, from cgroups, init's report and the egress process. */

/* CPU time of the cgroup from the program's start: a sandbox made ahead used some before. */
uint64_t monitor_usage_cpu_us(const struct sandbox *box);
/* Fills the result, and what the cgroups refused into m->seen. */
void monitor_usage_fill(struct monitor *m, sbr_result *result);

/* The program's terminal as the supervisor has it: its master side. */

/* False when it cannot be told. */
bool program_tty_look(int master, struct tty_state *ret);
void program_tty_resize(int master, unsigned int rows, unsigned int columns);

/* What must be written for the program to read end-of-file; `last` is the byte before it.  The
 * number of bytes in `ret`; 0: the program reads single keys, and there is no such thing. */
size_t program_tty_eof(int master, char last, char ret[2]);

/* Puts what sandbox-run-egress counted and refused into the result. */

/* Call once egress has ended; does nothing when there was none. */
void egress_report_read(const struct egress *egress, sbr_result *result);
/* While it runs: adds what was refused since the call that returned `from`, at first 0. */
uint32_t egress_report_refusals(const struct egress *egress, uint32_t from, struct denials *to);
/* Whether the rule was allowed while the program ran. */
bool egress_report_granted(const struct egress *egress, const char *rule);
/* The same of what connections wait for. */
uint32_t egress_report_asked(const struct egress *egress, uint32_t from, struct denials *to);
/* While it runs: how often each of its refusals came, in their order; returns how many more there
 * were than have a place. */
uint64_t egress_report_count(const struct egress *egress, uint64_t counts[DENIALS_MAX]);
/* Adds what was refused since those were the counts. */
void egress_report_since(const struct egress *egress, const uint64_t counts[DENIALS_MAX],
                         struct denials *to);
/* CPU time that egress has used until a moment ago. */
uint64_t egress_report_cpu_us(const struct egress *egress);
/* The reason why egress ended before the program. */
int egress_report_failure(const struct egress *egress, sbr_error *err);

#endif
