/* What can happen while a run is watched: each source becomes an event of monitor_states.c. */
#include "monitor/monitor.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/monitor_states.h"

/* A busy machine takes longer for the setup than a short limit of the program allows. */
#define SETUP_LEAST_US 10000000
#define SETUP_LOOK_US 20000
#define PAUSE_LOOK_US 100000 /* the time limit does not count during a pause */

/* Setup has at most the program's time. */
static uint64_t setup_ms(const struct plan *plan)
{
    uint64_t wall_ms = plan->limits.value[SBR_WALL_MS];

    return wall_ms == LIMIT_NONE ? limit_defs[SBR_WALL_MS].max : wall_ms;
}

/* The clock starts with the program.  Init does not wake us then; its report has the time. */
static void deadline_due(void *context, uint32_t events)
{
    struct monitor *m = context;
    uint64_t wall_ms = m->plan->limits.value[SBR_WALL_MS];
    uint64_t deadline = m->box->report->ready_us + monitor_paused_us(m) + wall_ms * 1000;

    (void)events;
    if (wall_ms == LIMIT_NONE && monitor_program_runs(m))
        return;
    if (m->box->report->paused_since_us)
        loop_set_timer(m->loop, TIMER_DEADLINE, clock_now_us() + PAUSE_LOOK_US, deadline_due, m);
    else if (monitor_program_runs(m) && clock_now_us() < deadline)
        loop_set_timer(m->loop, TIMER_DEADLINE, deadline, deadline_due, m);
    else if (!monitor_program_runs(m) && clock_now_us() < m->setup_until_us)
        loop_set_timer(m->loop, TIMER_DEADLINE, clock_now_us() + SETUP_LOOK_US, deadline_due, m);
    else
        monitor_handle(m, EV_DEADLINE);
}

static void collection_began(void *context)
{
    monitor_collection_began(context);
}

static void excess(struct monitor *m, enum stop_reason reason)
{
    if (m->seen.stop == STOP_NONE)
        m->seen.stop = reason;
    monitor_handle(m, EV_EXCESS);
}

static uint64_t publish_cpu_us(const struct sandbox *box)
{
    return box->publish.page ? box->publish.page->cpu_us : 0;
}

/* Not a poll: the timer fires at the earliest time at which the limit can be reached, with all CPUs
 * busy from now on. */
static void cpu_timer_due(void *context, uint32_t events)
{
    struct monitor *m = context;
    uint64_t limit = m->plan->limits.value[SBR_CPU_MS] * 1000, used = monitor_usage_cpu_us(m->box),
             outside = egress_report_cpu_us(&m->box->egress) + publish_cpu_us(m->box);
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), wait;

    (void)events;
    if (monitor_hands_out(m))
        return; /* the program does not use this time */
    if (used >= limit || outside >= limit - used) {
        excess(m, STOP_CPU);
        return;
    }
    wait = (limit - used - outside) / (cpus ? cpus : 1);
    loop_set_timer(m->loop, TIMER_CPU, clock_now_us() + (wait > 1000 ? wait : 1000), cpu_timer_due,
                   m);
}

static void output_excessive(void *context)
{
    excess(context, STOP_OUTPUT);
}

static void oom_happened(void *context, uint32_t events)
{
    struct monitor *m = context;

    (void)events;
    loop_remove(m->loop, &m->oom_watch);
    if (!cgroup_is_removed(&m->box->cgroup)) /* as when the engine is killed */
        excess(m, STOP_MEMORY);
}

static const enum stop_reason limit_stops[] = { [INIT_LIMIT_MEMORY] = STOP_MEMORY,
                                                [INIT_LIMIT_CPU] = STOP_CPU,
                                                [INIT_LIMIT_DISK] = STOP_DISK,
                                                [INIT_LIMIT_WALL] = STOP_TIMEOUT };

static void init_died(void *context, uint32_t events)
{
    struct monitor *m = context;
    const struct init_report *report = m->box->report;
    /* Init may have died while it sent the collected files. */
    uint32_t state = report->state == REPORT_COLLECTING ? report->end : report->state;
    uint32_t limit = *(const volatile uint32_t *)&report->limit; /* once: the page is shared */

    (void)events;
    loop_remove(m->loop, &m->init_watch);
    if (state == REPORT_LIMIT && m->seen.stop == STOP_NONE && limit < ARRAY_LEN(limit_stops))
        m->seen.stop = limit_stops[limit];
    m->seen.reported = state == REPORT_EXITED;
    m->seen.wait_status = report->wait_status;
    m->seen.disk_full = report->disk_full != 0;
    m->seen.inodes_full = report->disk_full == DISK_INODES_FULL;
    monitor_handle(m, EV_DEAD);
}

/* For a sandbox that another process reaps: init closes `control` when everything is dead and
 * reported, and dies later. */
static void control_closed(void *context, uint32_t events)
{
    struct monitor *m = context;

    (void)events;
    loop_remove(m->loop, &m->control_watch);
    if (REPORT_IS_FINAL(m->box->report->state))
        init_died(m, 0);
}

/* Nothing outside is reachable any more, so the run no longer has what was requested. */
static void egress_died(void *context, uint32_t events)
{
    struct monitor *m = context;

    (void)events;
    loop_remove(m->loop, &m->egress_watch);
    if (!monitor_program_runs(m))
        return; /* init reports the reason, with more detail */
    egress_report_failure(&m->box->egress, &m->failure);
    m->box->report->dropped = true;
    monitor_handle(m, EV_EXCESS);
}

/* No published port works any more. */
static void publish_died(void *context, uint32_t events)
{
    struct monitor *m = context;

    (void)events;
    loop_remove(m->loop, &m->publish_watch);
    if (!monitor_program_runs(m))
        return; /* as above */
    publish_process_failure(&m->box->publish, &m->failure);
    m->box->report->dropped = true;
    monitor_handle(m, EV_EXCESS);
}

static int watch_all(struct monitor *m, sbr_error *err)
{
    struct loop_watch *const watches[] = { &m->init_watch, &m->oom_watch, &m->egress_watch,
                                           &m->publish_watch };

    m->init_watch = loop_watch_of(m->box->init.pidfd, init_died, m);
    m->oom_watch = loop_watch_of(m->box->cgroup.oom_fd, oom_happened, m);
    m->egress_watch = loop_watch_of(m->box->egress.process.pidfd, egress_died, m);
    m->publish_watch = loop_watch_of(m->box->publish.process.pidfd, publish_died, m);
    m->control_watch = loop_watch_of(m->box->control, control_closed, m);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++)
        if (watches[i]->fd >= 0 && loop_add(m->loop, watches[i], EPOLLIN) < 0)
            return err_set_errno(err, "monitor", "cannot watch the sandbox");
    if (capture_start(&m->out, m->loop, err) < 0 || capture_start(&m->err, m->loop, err) < 0)
        return err->code;
    if (m->collect_reader && m->box->collected >= 0 &&
        collect_reader_start(m->collect_reader, take_fd(m->box->collected), m->loop, err) < 0)
        return err->code;
    if (seccomp_notify_start(&m->seccomp_notify, m->box, err) < 0)
        return err->code;
    /* While the listener is still to come on `control`, only init's death reports the end. */
    if (m->box->standby && m->seccomp_notify.control < 0 &&
        loop_add(m->loop, &m->control_watch, EPOLLIN) < 0)
        return err_set_errno(err, "monitor", "cannot watch the sandbox");
    if (m->box->terminal >= 0)
        monitor_take_terminal(m, take_fd(m->box->terminal));
    if (m->plan->kernel)
        return 0; /* its stdin is empty */
    /* A terminal starts it when it is there. */
    return m->plan->tty.streams & 1 && (m->terminal >= 0 || !m->plan->run_dir)
               ? 0
               : stdin_pump_start(&m->stdin_pump, m->loop, err);
}

static struct denials *list_of(void *context, pid_t task)
{
    struct monitor *m = context;

    return kernel_denials_is_own(&m->kernel_denials, m->box->report, task)
               ? &m->result->denials
               : &m->kernel_denials.others;
}

static void take_streams(struct monitor *m, struct sandbox *box,
                         const struct monitor_options *options)
{
    struct capture capture = { .fd = -1,
                               .max = m->plan->limits.value[SBR_OUTPUT_BYTES],
                               .keep = options->keep_output,
                               .excess = output_excessive,
                               .context = m };

    m->out = m->err = capture;
    m->out.fd = take_fd(box->out);
    m->out.sink = options->sink_out;
    m->out.file = options->file_out;
    m->out.forward = options->forward_out;
    m->err.fd = take_fd(box->err);
    m->err.sink = options->sink_err;
    m->err.file = options->file_err;
    m->err.forward = options->forward_err;
    m->err.keep_tail = options->keep_tail && !options->keep_output;
    /* A terminal has both streams in one. */
    m->out.keep_tail = m->err.keep_tail && m->plan->tty.streams & 1u << STDOUT_FILENO;
    m->out.loop = m->err.loop = options->loop;
}

int monitor_start(struct monitor *m, struct sandbox *box, const struct plan *plan,
                  const struct monitor_options *options, sbr_error *err)
{
    *m = (struct monitor){ .state = RUNNING,
                           .box = box,
                           .plan = plan,
                           .loop = options->loop,
                           .kernel = plan->kernel ? take_fd(box->in) : -1,
                           .terminal = -1,
                           .on_terminal = options->on_terminal,
                           .startup = options->startup ? options->startup : "cold",
                           .started_us = options->started_us,
                           .seen.stage = options->stage };
    take_streams(m, box, options);
    m->collect_reader = options->collect_reader;
    if (m->collect_reader) {
        m->collect_reader->began = collection_began;
        m->collect_reader->context = m;
    }
    m->stdin_pump = (struct stdin_pump){ .to = take_fd(box->in),
                                         .from = options->stdin_fd,
                                         .feed = options->stdin_feed,
                                         .data = options->stdin_data,
                                         .len = options->stdin_len,
                                         .held = options->hold_stdin,
                                         .tap = options->stdin_tap,
                                         .tap_context = options->stdin_tap_context };
    m->result = calloc(1, sizeof(*m->result));
    if (!m->result || encoding_random_id(m->result->id) < 0)
        return err_set_errno(err, "monitor", "cannot prepare the result");
    m->result->denials.watch = options->on_denial;
    m->seccomp_notify = (struct seccomp_notify){ .loop = m->loop,
                                                 .plan = plan,
                                                 .init = box->init.pid,
                                                 .denials = &m->result->denials,
                                                 .timer = TIMER_NOTIFY,
                                                 .list_of = plan->kernel ? list_of : NULL,
                                                 .terminal_came = monitor_take_terminal,
                                                 .context = m,
                                                 .listener = -1,
                                                 .control = -1 };
    m->setup_until_us = clock_now_us() + SETUP_LEAST_US;
    loop_set_timer(m->loop, TIMER_DEADLINE, clock_now_us() + setup_ms(plan) * 1000, deadline_due,
                   m);
    if (plan->limits.value[SBR_CPU_MS] != LIMIT_NONE &&
        (box->cgroup.controllers || box->egress.page || box->publish.page))
        cpu_timer_due(m, 0);
    return watch_all(m, err);
}

bool monitor_is_over(const struct monitor *m)
{
    return m->state == DONE && (!m->out.forward || forward_is_idle(m->out.forward)) &&
           (!m->err.forward || forward_is_idle(m->err.forward));
}

void monitor_cancel(struct monitor *m)
{
    monitor_resume(m); /* a stopped process does not end when it is asked to */
    monitor_handle(m, EV_CANCEL);
}

void monitor_interrupt(struct monitor *m)
{
    monitor_resume(m);
    monitor_handle(m, EV_INTERRUPT);
}

int monitor_take_result(struct monitor *m, sbr_result **ret, sbr_error *err)
{
    if (m->failure.code) {
        *err = m->failure;
        return err->code;
    }
    if (m->result->verdict == SBR_INTERNAL_ERROR)
        return err_set(err, SBR_E_SYSTEM, "init",
                       "the sandbox ended before the program did, as when its first process is "
                       "killed from outside or the machine has no memory left; run it again");
    m->result->denials.watch = (struct denials_watch){ 0 }; /* its client may be gone before it */
    *ret = take_ptr(m->result);
    return 0;
}

void monitor_done(struct monitor *m)
{
    stdin_pump_done(&m->stdin_pump);
    seccomp_notify_finish(&m->seccomp_notify);
    capture_done(&m->out);
    capture_done(&m->err);
    scope_close_fd(&m->terminal);
    scope_close_fd(&m->kernel);
    m->terminal = m->kernel = -1;
    if (m->loop) {
        loop_remove(m->loop, &m->init_watch);
        loop_remove(m->loop, &m->control_watch);
        loop_remove(m->loop, &m->oom_watch);
        loop_remove(m->loop, &m->egress_watch);
        loop_remove(m->loop, &m->publish_watch);
        for (unsigned int timer = 0; timer <= TIMER_CPU; timer++)
            loop_set_timer(m->loop, timer, 0, NULL, NULL);
    }
    denials_done(&m->kernel_denials.others);
    result_free(m->result);
    m->result = NULL;
}
