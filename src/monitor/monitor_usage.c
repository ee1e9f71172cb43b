#include "monitor/monitor.h"

#include "base/clock.h"

/* Never below 0: one of the two clocks may lag. */
static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

uint64_t monitor_usage_cpu_us(const struct sandbox *box)
{
    return less(cgroup_cpu_us(&box->cgroup), box->before.cpu_user_us + box->before.cpu_system_us);
}

/* What the cgroups counted from the program's start. */
static void read_groups(const struct sandbox *box, struct cgroup_usage *usage)
{
    cgroup_read(&box->cgroup, usage);
    usage->cpu_user_us = less(usage->cpu_user_us, box->before.cpu_user_us);
    usage->cpu_system_us = less(usage->cpu_system_us, box->before.cpu_system_us);
    usage->oom_kills = less(usage->oom_kills, box->before.oom_kills);
    usage->refused_forks = less(usage->refused_forks, box->before.refused_forks);
}

void monitor_usage_fill(struct monitor *m, sbr_result *result)
{
    const struct init_report *report = m->box->report;
    struct usage *usage = &result->usage;
    struct cgroup_usage group;
    bool measured = m->box->cgroup.controllers & 1u << CG_CPUACCT;

    read_groups(m->box, &group);
    m->seen.oom_kills = group.oom_kills;
    m->seen.refused_forks = group.refused_forks;
    /* A resource limit does not count what it refuses; we only see whether it was reached. */
    if (!(m->box->cgroup.controllers & 1u << CG_PIDS)) {
        m->seen.refused_forks = report->peak_processes >= m->plan->max_processes;
        m->seen.forks_guessed = true;
    }
    if (report->ready_us) {
        usage->startup_us = report->ready_us - m->started_us;
        usage->wall_us =
            less((report->ended_us ? report->ended_us : clock_now_us()) - report->ready_us,
                 monitor_paused_us(m));
    }
    usage->cpu_user_us =
        measured ? less(group.cpu_user_us, report->own_user_us) : report->cpu_user_us;
    usage->cpu_system_us =
        measured ? less(group.cpu_system_us, report->own_system_us) : report->cpu_system_us;
    usage->peak_memory_bytes =
        group.peak_memory_bytes ? group.peak_memory_bytes : report->peak_memory_bytes;
    usage->peak_processes = group.peak_processes ? group.peak_processes : report->peak_processes;
    usage->io_read_bytes = report->io_read_bytes;
    usage->io_write_bytes = report->io_write_bytes;
    usage->context_switches = report->context_switches;
}
