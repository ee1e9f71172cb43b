/* What a cell of a session was refused: as for a run, but from the cell's beginning to its end. */
#include "explain/denial_text.h"
#include "explain/ending.h"
#include "lib/job_client.h"
#include "lib/runner.h"
#include "monitor/monitor.h"

static struct monitor *living(sbr_job *job)
{
    struct monitor *monitor = job_client_running(job);

    return monitor && monitor->state != DONE && monitor->result ? monitor : NULL;
}

uint32_t runner_refusals(sbr_job *job, uint32_t from, struct denials *to)
{
    const struct monitor *monitor = living(job);

    return monitor ? egress_report_refusals(&monitor->box->egress, from, to) : from;
}

uint32_t runner_asked(sbr_job *job, uint32_t from, struct denials *to)
{
    const struct monitor *monitor = living(job);

    return monitor ? egress_report_asked(&monitor->box->egress, from, to) : from;
}

bool runner_granted(sbr_job *job, const struct host_rule *rule)
{
    const struct monitor *monitor = living(job);

    return monitor && egress_report_granted(&monitor->box->egress, rule->text);
}

static void count(const struct monitor *monitor, struct runner_refused *ret)
{
    struct cgroup_usage usage = { 0 };

    cgroup_read(&monitor->box->cgroup, &usage);
    *ret = (struct runner_refused){ .forks = usage.refused_forks, .oom_kills = usage.oom_kills };
    ret->hosts_dropped = egress_report_count(&monitor->box->egress, ret->hosts);
}

void runner_background_denials(sbr_job *job, bool in_cell, struct denials *to)
{
    struct monitor *monitor = living(job);

    if (!monitor)
        return;
    if (!in_cell)
        denials_merge(to, &monitor->result->denials);
    denials_merge(to, &monitor->kernel_denials.others);
}

void runner_begin_denials(sbr_job *job, unsigned int kernel, struct runner_refused *ret,
                          struct denials *between)
{
    struct monitor *monitor = living(job);

    *ret = (struct runner_refused){ 0 };
    if (!monitor)
        return;
    runner_background_denials(job, false, between);
    seccomp_notify_forget(&monitor->seccomp_notify);
    monitor->kernel_denials.turn = kernel;
    count(monitor, ret);
}

/* Counted for all processes together: the way out and the limits do not know which one it was. */
static void add_counted(const struct monitor *monitor, const struct runner_refused *before,
                        sbr_result *result)
{
    struct observation seen = { .stage = STAGE_RUN };
    struct runner_refused now;

    count(monitor, &now);
    egress_report_since(&monitor->box->egress, before->hosts, &result->denials);
    result->denials.dropped += now.hosts_dropped - before->hosts_dropped;
    seen.refused_forks = now.forks - before->forks;
    seen.oom_kills = now.oom_kills - before->oom_kills;
    verdict_note_limits(&seen, result);
}

void runner_end_denials(sbr_job *job, const struct runner_refused *before, sbr_result *result,
                        struct denials *between)
{
    struct monitor *monitor = living(job);
    scoped_last_words struct last_words said = { 0 };

    if (!monitor)
        return;
    if (!result_success(result))
        seccomp_notify_blame(&monitor->seccomp_notify);
    denials_merge(&result->denials, &monitor->result->denials);
    runner_background_denials(job, true, between);
    add_counted(monitor, before, result);
    if (result_success(result) || result->verdict == SBR_CANCELLED)
        return;
    said = last_words_of(result);
    denial_text(monitor->plan, said.text, said.len, &result->denials);
}
