/* The part of the monitor for a program that a user works with: its terminal, signals, pauses. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "monitor/monitor.h"

#define PAUSE_STEP_NS 50000  /* init has no other way to say that it is done */
#define PAUSE_WAIT_US 500000 /* for processes that do not stop */

/* Init notes REPORT_RUNNING a moment after the program began and perhaps wrote something, to which
 * an order may be the answer.  From ready_us on init reads nothing but orders. */
static bool program_runs(const struct monitor *m)
{
    const struct init_report *report = m->box->report;

    return m->state != DONE && report->ready_us && !REPORT_IS_FINAL(report->state);
}

/* Both streams of output come from one terminal, as they would go to one. */
static struct capture *output_of(struct monitor *m)
{
    return m->plan->tty.streams & 1u << STDOUT_FILENO ? &m->out : &m->err;
}

static void feed_from(struct monitor *m)
{
    sbr_error err;

    scope_close_fd(&m->stdin_pump.to);
    m->stdin_pump.to = fcntl(m->terminal, F_DUPFD_CLOEXEC, 0);
    m->stdin_pump.is_tty = true;
    if (m->stdin_pump.to < 0 || stdin_pump_start(&m->stdin_pump, m->loop, &err) < 0)
        log_info("stdin", "the program's terminal gets no input: %s", strerror(errno));
}

void monitor_take_terminal(void *context, int master)
{
    struct monitor *m = context;
    int copy = fcntl(master, F_DUPFD_CLOEXEC, 0);

    scope_close_fd(&m->terminal);
    m->terminal = master;
    m->result->tty_rows = m->plan->tty.rows;
    m->result->tty_columns = m->plan->tty.columns;
    if (copy < 0 || capture_switch(output_of(m), copy) < 0)
        sandbox_kill(m->box); /* a program whose output is lost must not run on */
    if (m->on_terminal)
        m->on_terminal(m->stdin_pump.tap_context);
    if (m->plan->tty.streams & 1u << STDIN_FILENO)
        feed_from(m);
}

void monitor_signal(const struct monitor *m, int number)
{
    if (program_runs(m))
        sandbox_signal(m->box, 0, number);
}

uint64_t monitor_paused_us(const struct monitor *m)
{
    const struct init_report *report = m->box->report;
    uint64_t since = report->paused_since_us;

    return report->paused_us + (since ? clock_now_us() - since : 0);
}

void monitor_pause(struct monitor *m)
{
    struct init_report *report = m->box->report;

    if (!program_runs(m) || report->paused_since_us)
        return;
    report->paused_since_us = clock_now_us();
    m->pauses = atomic_load(&report->pauses) + 1;
    sandbox_pause(m->box, true);
}

void monitor_await_pause(const struct monitor *m)
{
    const struct timespec step = { .tv_nsec = PAUSE_STEP_NS };
    uint64_t deadline = clock_now_us() + PAUSE_WAIT_US;

    while (program_runs(m) && atomic_load(&m->box->report->pauses) != m->pauses &&
           clock_now_us() < deadline)
        nanosleep(&step, NULL);
}

/* The timer of the time limit fires at its old time and is then set anew. */
void monitor_resume(struct monitor *m)
{
    struct init_report *report = m->box->report;
    uint64_t since = report->paused_since_us;

    if (!since)
        return;
    report->paused_us += clock_now_us() - since;
    report->paused_since_us = 0;
    sandbox_pause(m->box, false);
}

void monitor_resize(struct monitor *m, unsigned int rows, unsigned int columns)
{
    if (m->terminal < 0)
        return;
    m->result->tty_rows = rows;
    m->result->tty_columns = columns;
    program_tty_resize(m->terminal, rows, columns);
}

bool monitor_look_at_tty(const struct monitor *m, struct tty_state *ret)
{
    return program_tty_look(m->terminal, ret);
}

void monitor_hold_stdin(struct monitor *m, bool held)
{
    stdin_pump_hold(&m->stdin_pump, held);
}
