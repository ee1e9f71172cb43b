/* RUNNING --deadline, cancel--> STOPPING --grace, cancel, excess--> ENDING --dead--> DONE
 *    |                            |                                   ^               ^
 *    |---------- excess ----------+-----------------------------------'               |
 *    '--------------------------- dead (the program ended) ---------------------------'
 *
 * INTERRUPTED, between the first two: the program got SIGINT, as from a terminal.  STOPPING:
 * everything inside was asked to end.  ENDING: everything was killed, but init is not dead yet.
 * Once init is dead, no process inside can write: the pipes hold the last output, and the report
 * is final.
 *
 * COLLECTING: the program has ended, for whatever reason, and init sends the collected files.  Init
 * does not report when that begins; the monitor checks before it acts on any event.  The program's
 * limits no longer apply; init must only make progress. */
#include "monitor/monitor_states.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define KILL_PATIENCE_US 200000
#define STALL_US 5000000 /* between two checks of the progress in COLLECTING */

typedef enum monitor_state transition(struct monitor *m, enum monitor_event event);

static enum monitor_state stay(struct monitor *m, enum monitor_event event)
{
    (void)event;
    return m->state;
}

bool monitor_program_runs(const struct monitor *m)
{
    return m->box->report->state >= REPORT_RUNNING;
}

static void grace_due(void *context, uint32_t events)
{
    (void)events;
    monitor_handle(context, EV_GRACE);
}

static void note_stop(struct monitor *m, enum monitor_event event)
{
    static const enum stop_reason reasons[N_EVENTS] = {
        [EV_DEADLINE] = STOP_TIMEOUT, [EV_CANCEL] = STOP_CANCELLED, [EV_INTERRUPT] = STOP_CANCELLED
    };

    if (m->seen.stop == STOP_NONE)
        m->seen.stop = reasons[event];
}

static enum monitor_state kill_init(struct monitor *m, enum monitor_event event)
{
    (void)event;
    m->box->report->dropped = true;
    sandbox_kill(m->box);
    return ENDING;
}

static enum monitor_state kill_all(struct monitor *m, enum monitor_event event)
{
    note_stop(m, event);
    log_info(stage_name(m->seen.stage), "ending everything inside");
    if (!monitor_program_runs(m))
        return kill_init(m, event);
    /* Init counts what it kills; if init hangs, the grace timer kills it without a count. */
    sandbox_order_kill(m->box);
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + KILL_PATIENCE_US, grace_due, m);
    return ENDING;
}

static enum monitor_state ask(struct monitor *m, enum monitor_event event)
{
    uint64_t grace_us = m->plan->limits.value[SBR_GRACE_MS] * 1000;

    if (!monitor_program_runs(m))
        return kill_all(m, event); /* there is no program to ask yet */
    note_stop(m, event);
    if (event == EV_CANCEL)
        m->box->report->dropped = true; /* drop its files even if it ends by itself now */
    log_info(stage_name(m->seen.stage), "asking the program to end");
    sandbox_terminate(m->box);
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + grace_us, grace_due, m);
    return STOPPING;
}

static enum monitor_state interrupt(struct monitor *m, enum monitor_event event)
{
    uint64_t grace_us = m->plan->limits.value[SBR_GRACE_MS] * 1000;

    if (!monitor_program_runs(m))
        return kill_all(m, event);
    note_stop(m, event);
    m->box->report->dropped = true;
    sandbox_signal(m->box, 0, SIGINT);
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + grace_us, grace_due, m);
    return INTERRUPTED;
}

/* A caller that cancels during collection does not wait for the files. */
static enum monitor_state drop(struct monitor *m, enum monitor_event event)
{
    note_stop(m, event);
    m->box->report->dropped = true;
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + KILL_PATIENCE_US, grace_due, m);
    return ENDING;
}

static enum monitor_state look_for_progress(struct monitor *m, enum monitor_event event)
{
    uint64_t progress = m->box->report->progress;

    if (progress == m->progress && m->state == COLLECTING) {
        log_info(stage_name(m->seen.stage), "nothing is handed out any more");
        return kill_init(m, event);
    }
    m->progress = progress;
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + STALL_US, grace_due, m);
    return COLLECTING;
}

bool monitor_hands_out(const struct monitor *m)
{
    const struct init_report *report = m->box->report;

    return m->collect_reader && report->ended_us && !report->dropped;
}

static void drop_reader(struct forward *forward, struct output *output)
{
    if (!forward || forward_is_idle(forward))
        return;
    output->unread = forward_queued(forward);
    forward_done(forward);
}

/* The run ended otherwise than by itself, and the time of its readers is up as well. */
static enum monitor_state drop_readers(struct monitor *m, enum monitor_event event)
{
    (void)event;
    if (m->result) {
        drop_reader(m->out.forward, &m->result->out);
        drop_reader(m->err.forward, &m->result->err);
    }
    return DONE;
}

/* A reader that takes nothing gets as long as the program would have; the second time, no more. */
static enum monitor_state limit_readers(struct monitor *m, enum monitor_event event)
{
    uint64_t grace_us = m->plan->limits.value[SBR_GRACE_MS] * 1000 + 1;

    if (m->readers_limited)
        return drop_readers(m, event);
    m->readers_limited = true;
    loop_set_timer(m->loop, TIMER_GRACE, clock_now_us() + grace_us, grace_due, m);
    return DONE;
}

/* Takes the last output.  What it shows is true however the program ended. */
static void finish_stream(struct monitor *m, struct capture *capture, struct output *ret)
{
    capture_finish(capture, ret);
    if (capture->over && m->seen.stop == STOP_NONE)
        m->seen.stop = STOP_OUTPUT;
    if (capture->forward)
        forward_end(capture->forward);
}

static enum monitor_state finish(struct monitor *m, enum monitor_event event)
{
    sbr_result *result = m->result;

    (void)event;
    for (unsigned int timer = 0; timer <= TIMER_CPU; timer++)
        loop_set_timer(m->loop, timer, 0, NULL, NULL);
    stdin_pump_done(&m->stdin_pump);
    seccomp_notify_finish(&m->seccomp_notify);
    finish_stream(m, &m->out, &result->out);
    finish_stream(m, &m->err, &result->err);
    if (m->collect_reader)
        collect_reader_finish(m->collect_reader);
    loop_remove(m->loop, &m->oom_watch); /* closed by the end of the sandbox */
    result->limits = m->plan->limits;
    result->isolation = m->plan->isolation;
    init_outcome_missing(m->box->report, &result->isolation);
    result->startup = m->startup;
    if (m->terminal < 0)
        result->tty_rows = result->tty_columns = 0;
    result->ran = true;
    result->stage = "run";
    monitor_usage_fill(m, result);
    verdict_decide(&m->seen, result);
    if (!strcmp(m->startup, "cold")) /* a sandbox that waited has the engine's limits */
        own_limits_explain(result);
    if (!result_success(result))
        seccomp_notify_blame(&m->seccomp_notify);
    result_complete(result);
    if (!monitor_program_runs(m) && m->seen.stop == STOP_NONE)
        sandbox_failure(m->box, &m->failure);
    init_outcome_steps(m->box->report);
    log_info(stage_name(m->seen.stage), "started after %.3f ms, ended: %s",
             (double)result->usage.startup_us / 1000, result_verdict_name(result->verdict));
    loop_remove(m->loop, &m->egress_watch);
    loop_remove(m->loop, &m->publish_watch);
    loop_remove(m->loop, &m->control_watch);
    sandbox_end(m->box);
    if (m->box->egress.died && m->seen.stop == STOP_NONE && !m->failure.code)
        egress_report_failure(&m->box->egress, &m->failure);
    if (m->box->publish.died && m->seen.stop == STOP_NONE && !m->failure.code)
        publish_process_failure(&m->box->publish, &m->failure);
    egress_report_read(&m->box->egress, result);
    return m->seen.stop == STOP_NONE ? DONE : limit_readers(m, event);
}

/* clang-format off */
static transition *const transitions[N_STATES][N_EVENTS] = {
    /*                DEADLINE  CANCEL    INTERRUPT  GRACE              EXCESS    DEAD   */
    [RUNNING]    = {  ask,      ask,      interrupt, stay,              kill_all, finish },
    [INTERRUPTED] = { ask,      ask,      ask,       ask,               kill_all, finish },
    [STOPPING]   = {  stay,     kill_all, kill_all,  kill_all,          kill_all, finish },
    [ENDING]     = {  stay,     stay,     stay,      kill_init,         stay,     finish },
    [COLLECTING] = {  stay,     drop,     drop,      look_for_progress, stay,     finish },
    [DONE]       = {  stay,     limit_readers, limit_readers, drop_readers, stay,  stay   },
};
/* clang-format on */

void monitor_handle(struct monitor *m, enum monitor_event event)
{
    if (m->state < COLLECTING && event != EV_DEAD && monitor_hands_out(m)) {
        m->state = look_for_progress(m, event);
        if (event != EV_CANCEL && event != EV_INTERRUPT)
            return;
    }
    m->state = transitions[m->state][event](m, event);
}

void monitor_collection_began(struct monitor *m)
{
    if (m->state < COLLECTING && monitor_hands_out(m))
        m->state = look_for_progress(m, N_EVENTS);
}
