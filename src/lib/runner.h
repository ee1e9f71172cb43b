/* The one way in for clients of this tree: the command line, sessions, services.
 *
 * include/sandboxrun.h is what every program may use.  This header adds what only our own clients
 * need: what a runtime is opened for, what a job does besides, and what can be said of a language
 * or a request without running anything.  No client looks into a job or probes the machine
 * by itself; tests/lint/layers.py checks that. */
#ifndef LIB_RUNNER_H
#define LIB_RUNNER_H

#include "model/request.h"
#include "model/result.h"
#include "plan/plan.h"
#include "plan/stage.h"
#include "wire/egress.h"

struct buf;
struct diff_options;
struct features;
struct json_t;
struct language;
struct tty_state;

enum runner_use {
    RUNNER_ONCE, /* one run, or few: starts with as little work as possible */
    RUNNER_LONG, /* many runs: removes what dead runs left, keeps connections to the engine */
    RUNNER_PLAN  /* no run: finds out by trial what a run would find out by itself */
};

/* `cold`: no engine is asked.  sbr_runtime_close closes it. */
int runner_open(enum runner_use use, bool cold, sbr_runtime **ret, sbr_error *err) must_check;
/* The same for a runtime that is a part of something else. */
void runner_probe(sbr_runtime *rt, enum runner_use use);
/* What this machine offers; borrowed. */
/* Backends that this program knows by name, strongest first; NULL at the end. */
const char *const *runner_backends(void);
const struct features *runner_features(const sbr_runtime *rt);

/* What only our own clients set, as the functions of sandboxrun.h do: after sbr_job_start and
 * before the first dispatch. */

/* `started_us`: when the request came.  `diff`: how the result shows changes to people; NULL: not;
 * it must outlive the job. */
void runner_set_up(sbr_job *job, uint64_t started_us, const struct diff_options *diff);
/* Large trees take long to open.  A client with other things to do has that done by any thread
 * between sbr_job_start and the first dispatch, if runner_has_trees; the result is the same. */
bool runner_has_trees(const sbr_job *job);
void runner_open_trees(sbr_job *job);
/* The result does not name the version of the language's tool, which would be asked once. */
/* Forgets changes that were kept. */
int runner_drop_changes(const char *id, sbr_error *err) must_check;
/* Also where nobody wants the changes to trees: the result says which there were, without their
 * contents, so that they are not thrown away in silence. */
void runner_notice_changes(sbr_job *job);
void runner_skip_version(sbr_job *job);
/* The id of the result, which a client has to know before the end. */
void runner_set_id(sbr_job *job, const char *id);
/* The engine gets the place of the run back from sbr_job_free, not before the result is there: what
 * the engine does then takes no time from the client that waits for the result. */
void runner_keep_place(sbr_job *job);
/* Why an engine that runs was of no use, when its owner can mend that; NULL: there is nothing. */
const char *runner_engine_note(const sbr_job *job);
/* After the end of a job that was dispatched: names the version of the tool, as sbr_run does.
 * False when the tool would have to be asked, in a sandbox, and `may_wait` forbids it. */
bool runner_find_version(sbr_job *job, sbr_result *result, bool may_wait);
/* For a stream that sbr_job_pass passes on: adds to `out` what may pass. */
typedef void runner_filter_fn(void *state, const char *data, size_t len, struct buf *out);
void runner_filter(sbr_job *job, enum sbr_stream stream, runner_filter_fn *filter, void *state);
/* Whether an image can be used without fetching it. */
bool runner_has_image(const char *ref);
/* Calls back inside dispatch when `fd`, which is borrowed, is readable. */
int runner_watch(sbr_job *job, int fd, void (*readable)(void *context), void *context,
                 sbr_error *err) must_check;
/* For a client with a terminal that it shares with the program. */
struct runner_tty {
    void *context;
    /* Sees what comes from stdin before the program does, and may take bytes out; the number that
     * is left.  NULL: none. */
    size_t (*keys)(void *context, char *data, size_t len);
    bool hold_stdin;              /* until runner_hold_stdin */
    void (*began)(void *context); /* the program's terminal is there */
};
void runner_use_tty(sbr_job *job, const struct runner_tty *tty);
/* Sends SIGINT to the program; ends the run as sbr_job_cancel does when that does not end it in the
 * time of the limit `grace`, at the second call, or while no program runs. */
void runner_interrupt(sbr_job *job);
/* Each does nothing while no program runs; see monitor/monitor.h. */
void runner_signal(sbr_job *job, int number);
/* Also while it is being compiled or its packages are being installed. */
void runner_pause(sbr_job *job, bool pause);
/* After a pause: returns when everything stands. */
void runner_await_pause(sbr_job *job);
void runner_resize(sbr_job *job, unsigned int rows, unsigned int columns);
void runner_hold_stdin(sbr_job *job, bool held);
/* False while there is no terminal. */
bool runner_look_at_tty(sbr_job *job, struct tty_state *ret);
/* True when no output that was taken from the program still waits for its reader. */
bool runner_output_is_idle(const sbr_job *job);
/* After the end: true when the last byte that was passed on to stderr, or with `out` also to
 * stdout, ended no line. */
bool runner_is_in_line(const sbr_job *job, bool out);
/* The i-th stage that is done, or NULL. */
const sbr_result *runner_stage_done(const sbr_job *job, size_t i);
/* What the compiler of a program from the cache wrote when it made it; or NULL. */
const char *runner_earlier_output(const sbr_job *job);
/* True when the reader of stdout left before the program's end. */
bool runner_lost_reader(const sbr_job *job);
/* The language whose prepare stage was left out, because the program could do without; or NULL. */
const struct language *runner_owes_prepared(const sbr_job *job);
/* In place of sbr_job_free and sbr_runtime_close for a process that ends right after: the kernel
 * frees the memory.  Each may be NULL. */
void runner_leave(sbr_runtime *rt, sbr_job *job);

/* For a request of a session's kernel (sbr_request.kernel). */

/* The channel to the kernel, borrowed; -1 while it does not run. */
int runner_kernel_fd(sbr_job *job);
/* The plan of a further kernel in the sandbox of this job: the request is the job's, with another
 * language.  Refused when that would need what the sandbox has not. */
int runner_plan_kernel(const sbr_runtime *rt, sbr_job *job, const sbr_request *req,
                       struct plan **ret, sbr_error *err) must_check;
/* Starts it as the one of this number, from 1 on; *ret is its channel, which the caller owns. */
int runner_add_kernel(sbr_job *job, const struct plan *plan, unsigned int kernel, int *ret,
                      sbr_error *err) must_check;
#define RUNNER_KERNELS 3
/* To the process group of a kernel; 0: the job's own. */
void runner_signal_kernel(sbr_job *job, unsigned int kernel, int number);
/* False while such a signal is on its way. */
bool runner_signals_are_sent(sbr_job *job);
/* Takes the output that is in the program's pipes now. */
void runner_drain(sbr_job *job);
/* How much was refused before a cell. */
struct runner_refused {
    uint64_t forks, oom_kills;
    uint64_t hosts[DENIALS_MAX]; /* by the way out: the count of each of its denials */
    uint64_t hosts_dropped;
};
/* Moves what no cell was refused to `to`: what other kernels and processes of earlier cells were
 * and, while no cell runs, everything. */
void runner_background_denials(sbr_job *job, bool in_cell, struct denials *to);
/* A cell of that kernel begins: what was refused until now is moved to `between`. */
void runner_begin_denials(sbr_job *job, unsigned int kernel, struct runner_refused *ret,
                          struct denials *between);
/* Adds what was refused to the cell since then to the result, whose limits, end and output are
 * known, and the rest to `between`. */
void runner_end_denials(sbr_job *job, const struct runner_refused *before, sbr_result *result,
                        struct denials *between);
/* Lets the peaks of memory and processes begin anew; false where the kernel cannot. */
bool runner_reset_peaks(sbr_job *job);
/* The program's directory /work or /tmp (O_PATH), and the user on the host that its files belong
 * to; -1 with errno.  What is below it may change at any time: open it with RESOLVE_BENEATH. */
int runner_open_top(sbr_job *job, const char *name, unsigned int *ret_uid, unsigned int *ret_gid);
/* As runner_pause, by the cgroup where that can be. */
void runner_freeze(sbr_job *job, bool freeze);
/* What the program has changed in its copy-on-write trees until now; it stands still meanwhile.
 * Fills `changes` of the result, `diff` when `diff` is not NULL, and with `keep` `changes_id`. */
int runner_changes(sbr_job *job, bool keep, const struct diff_options *diff, sbr_result *ret,
                   sbr_error *err) must_check;
/* What is kept as `id` was made real, at `paths` and below; none: all of it. */
int runner_applied(sbr_job *job, const char *id, const char *const *paths, size_t n_paths,
                   sbr_error *err) must_check;
/* Lets the program reach this, too.  Refused where the sandbox was made without a way for it; the
 * error says what to do. */
int runner_allow(sbr_job *job, const struct host_rule *rule, sbr_error *err) must_check;
/* What a person decided about connections that wait, and later ones. */
int runner_decide(sbr_job *job, enum egress_order order, const struct host_rule *rule,
                  sbr_error *err) must_check;
/* Whether it was allowed while the program ran. */
bool runner_granted(sbr_job *job, const struct host_rule *rule);
/* For what connections wait, since the call that returned `from`, at first 0. */
uint32_t runner_asked(sbr_job *job, uint32_t from, struct denials *to);
/* What the way out has refused since the call that returned `from`, at first 0. */
uint32_t runner_refusals(sbr_job *job, uint32_t from, struct denials *to);
/* What the program may reach by its plan; borrowed.  NULL: it does not run. */
const struct network *runner_network(sbr_job *job);
/* Which file the kernel was started from; another number once that file is another one. */
uint64_t runner_tool_identity(sbr_job *job);
/* The tree on the host with the packages that a job had installed, while the job lives; NULL: none.
 */
const char *runner_dependencies(const sbr_job *job);
/* What every result of the run has: language, policy, network, isolation, startup. */
/* The published ports that listen. */
const struct publish *runner_ports(const sbr_job *job);
void runner_describe(sbr_job *job, sbr_result *ret);

/* The plan of the program's own stage; nothing is started.  The caller frees it before it closes
 * the runtime, because the plan borrows from it. */
int runner_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
    must_check;
/* The language's interpreter on this machine, or NULL; valid until this thread calls it again. */
const char *runner_locate(const struct language *language);
/* Before changes are applied for a caller, by the audit of `base`. */
int runner_record_apply(const sbr_request *base, const char *changes_id, const char *caller,
                        sbr_error *err) must_check;
/* Where the user's settings are; false when the environment does not say. */
bool runner_config_dir(char *path, size_t size);

#endif
