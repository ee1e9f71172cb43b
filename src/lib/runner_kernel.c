/* What a session needs of the run that its kernel is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "job/job_trees.h"
#include "job/warm_blueprint.h"
#include "lib/job_client.h"
#include "lib/runner.h"

#define RESET_SLACK (1u << 20)

int runner_kernel_fd(sbr_job *job)
{
    const struct monitor *monitor = job_client_running(job);

    return monitor ? monitor->kernel : -1;
}

void runner_drain(sbr_job *job)
{
    struct monitor *monitor = job_client_running(job);

    if (!monitor || monitor->state == DONE)
        return;
    capture_drain(&monitor->out);
    capture_drain(&monitor->err);
}

void runner_take_denials(sbr_job *job, struct denials *to)
{
    const struct monitor *monitor = job_client_running(job);

    if (monitor && monitor->result)
        denials_merge(to, &monitor->result->denials);
}

bool runner_reset_peaks(sbr_job *job)
{
    const struct monitor *monitor = job_client_running(job);
    struct cgroup_usage usage;
    struct cgroup_now now;

    if (!monitor || !(monitor->box->cgroup.controllers & 1u << CG_MEMORY))
        return false;
    cgroup_forget_peaks(&monitor->box->cgroup);
    cgroup_read(&monitor->box->cgroup, &usage);
    cgroup_read_now(&monitor->box->cgroup, &now);
    /* Some pages may have come in between; a peak that stayed is further away. */
    return usage.peak_memory_bytes && usage.peak_memory_bytes <= now.memory_bytes + RESET_SLACK;
}

int runner_open_top(sbr_job *job, const char *name, unsigned int *ret_uid, unsigned int *ret_gid)
{
    const struct monitor *monitor = job_client_running(job);
    char path[REQUEST_MAX_PATH + 32];

    if (!monitor || monitor->state == DONE) {
        errno = ESRCH;
        return -1;
    }
    *ret_uid = monitor->box->ids.host_uid;
    *ret_gid = monitor->box->ids.host_gid;
    if (monitor->plan->run_dir)
        snprintf(path, sizeof(path), "%s/%s", monitor->plan->run_dir, name);
    else
        snprintf(path, sizeof(path), "/proc/%d/root/%s", (int)monitor->box->init.pid, name);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void runner_freeze(sbr_job *job, bool freeze)
{
    struct monitor *monitor = job_client_running(job);

    if (!monitor)
        return;
    if (!freeze)
        (void)cgroup_freeze(&monitor->box->cgroup, false);
    runner_pause(job, freeze);
    if (freeze) /* init has its order by now, or takes it when it goes on: the order does no harm */
        (void)cgroup_freeze(&monitor->box->cgroup, true);
}

int runner_changes(sbr_job *job, bool keep, const struct diff_options *diff, sbr_result *ret,
                   sbr_error *err)
{
    const struct diff_options *before = job->render;
    int r;

    if (!job_client_running(job))
        return err_set(err, SBR_E_BUSY, "session", "the kernel does not run");
    job->render = diff;
    r = job_trees_look_now(job, keep, ret, err);
    job->render = before;
    return r;
}

int runner_applied(sbr_job *job, const char *id, const char *const *paths, size_t n_paths,
                   sbr_error *err)
{
    return job_trees_applied(job, id, paths, n_paths, err);
}

uint64_t runner_tool_identity(sbr_job *job)
{
    return job->now.plan ? warm_source_identity(job->now.plan->argv[0]) : 0;
}

void runner_describe(sbr_job *job, sbr_result *ret)
{
    const struct plan *plan = job->now.plan;
    sbr_error ignored; /* without memory the result lists fewer rules */

    if (!plan)
        return;
    ret->isolation = plan->isolation;
    ret->policy = plan->policy->name;
    ret->network.mode = plan->network;
    ret->network.allow_dns = plan->egress.allow_dns;
    for (size_t i = 0; i < plan->egress.n_rules; i++)
        if (network_add_rule(&ret->network, &plan->egress.rules[i], &ignored) < 0)
            break;
    ret->startup = job->now.startup ? job->now.startup : "cold";
    if (!job->skips_version)
        job_outcome_name_tool(job, ret);
}
