/* What a session needs of the run that its kernel is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"
#include "job/job_trees.h"
#include "job/warm_blueprint.h"
#include "lib/job_client.h"
#include "lib/runner.h"
#include "plan/filter.h"
#include "wire/control.h"

_Static_assert(RUNNER_KERNELS == INIT_KERNELS, "as init has places");

#define RESET_SLACK (1u << 20)

int runner_kernel_fd(sbr_job *job)
{
    const struct monitor *monitor = job_client_running(job);

    return monitor ? monitor->kernel : -1;
}

/* Mounts come before the confinement, so the sandbox has what it has. */
static bool is_mount(const struct plan_op *op)
{
    return op->kind == OP_BIND || op->kind == OP_COW;
}

static bool has_mount(const struct plan *plan, const struct plan_op *wanted)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (is_mount(&plan->ops[i]) && !strcmp(plan->ops[i].to, wanted->to))
            return true;
    return false;
}

static int check_fit(const struct plan *living, const struct plan *plan, const char *language,
                     sbr_error *err)
{
    if (living->run_dir || filter_eval_forbids_messages(living->filters, living->n_filters))
        return err_set(err, SBR_E_UNSUPPORTED, "session",
                       "this sandbox cannot take a second kernel (%s); make a session with --lang "
                       "%s",
                       living->run_dir ? "it has no root of its own" : "its policy forbids it",
                       language);
    for (size_t i = 0; i < plan->n_ops; i++)
        if (is_mount(&plan->ops[i]) && !(plan->ops[i].flags & OP_OPTIONAL) &&
            !has_mount(living, &plan->ops[i]))
            return err_set(err, SBR_E_UNSUPPORTED, "session",
                           "%s needs /%.100s, which a living sandbox cannot be given; make a "
                           "session with --lang %s",
                           language, plan->ops[i].to, language);
    return 0;
}

int runner_plan_kernel(const sbr_runtime *rt, sbr_job *job, const sbr_request *req,
                       struct plan **ret, sbr_error *err)
{
    const struct monitor *monitor = job_client_running(job);
    struct plan *plan = NULL;

    if (!monitor)
        return err_set(err, SBR_E_BUSY, "session", "the kernel does not run");
    if (job_plan(rt, req, &plan, err) < 0)
        return err->code;
    if (check_fit(monitor->plan, plan, req->language, err) < 0) {
        plan_free(plan);
        return err->code;
    }
    *ret = plan;
    return 0;
}

int runner_add_kernel(sbr_job *job, const struct plan *plan, unsigned int kernel, int *ret,
                      sbr_error *err)
{
    const struct monitor *monitor = job_client_running(job);

    if (!monitor)
        return err_set(err, SBR_E_BUSY, "session", "the kernel does not run");
    return sandbox_add_kernel(monitor->box, plan, kernel, ret, err);
}

void runner_signal_kernel(sbr_job *job, unsigned int kernel, int number)
{
    const struct monitor *monitor = job_client_running(job);

    if (monitor && monitor->state != DONE)
        sandbox_signal(monitor->box, kernel, number);
}

bool runner_signals_are_sent(sbr_job *job)
{
    const struct monitor *monitor = job_client_running(job);

    return !monitor || monitor->state == DONE || sandbox_signals_are_sent(monitor->box);
}

void runner_drain(sbr_job *job)
{
    struct monitor *monitor = job_client_running(job);

    if (!monitor || monitor->state == DONE)
        return;
    capture_drain(&monitor->out);
    capture_drain(&monitor->err);
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

static bool has_port(const uint16_t *ports, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++)
        if (ports[i] == port)
            return true;
    return false;
}

/* Sockets inside are made before the program starts: what none leads to cannot be added. */
static const char *no_way(const struct plan *plan, enum egress_way way,
                          const struct host_rule *rule)
{
    if (!network_goes_outside(plan->network))
        return "this sandbox has no way out";
    if (network_rule_is_loopback(rule))
        return has_port(plan->forward_ports, plan->n_forward_ports, rule->port)
                   ? NULL
                   : "a port of the host's loopback needs a listener inside";
    if (way == WAY_PORTS && rule->port && !has_port(plan->ports, plan->n_ports, rule->port))
        return "without netfilter each port needs a listener inside";
    return NULL;
}

int runner_allow(sbr_job *job, const struct host_rule *rule, sbr_error *err)
{
    return runner_decide(job, EGRESS_ALLOW, rule, err);
}

int runner_decide(sbr_job *job, enum egress_order order, const struct host_rule *rule,
                  sbr_error *err)
{
    const struct monitor *monitor = job_client_running(job);
    const char *reason;

    if (!monitor || monitor->state == DONE)
        return err_set(err, SBR_E_BUSY, "network", "no program runs");
    reason = no_way(monitor->plan,
                    monitor->box->egress.page ? monitor->box->egress.page->way : WAY_TPROXY, rule);
    if (reason && order <= EGRESS_ALLOW_ONCE)
        return err_set(err, SBR_E_UNSUPPORTED, "network",
                       "%s, so it cannot be given %.200s while it runs; start it with --allow-host "
                       "%.200s",
                       reason, rule->text, rule->text);
    return egress_decide(&monitor->box->egress, order, rule, err);
}

const struct network *runner_network(sbr_job *job)
{
    const struct monitor *monitor = job_client_running(job);

    return monitor ? &monitor->plan->egress : NULL;
}

const struct publish *runner_ports(const sbr_job *job)
{
    return &job->listeners.published;
}

uint64_t runner_tool_identity(sbr_job *job)
{
    return job->now.plan ? warm_source_identity(job->now.plan->argv[0]) : 0;
}

const char *runner_dependencies(const sbr_job *job)
{
    return job->layers[LAYER_DEPS].path[0] ? job->layers[LAYER_DEPS].path : NULL;
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
    ret->publish = job->listeners.published;
    publish_process_count(&job->now.box.publish, &ret->publish);
    ret->startup = job->now.startup ? job->now.startup : "cold";
    if (!job->skips_version)
        job_outcome_name_tool(job, ret);
}
