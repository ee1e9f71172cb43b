#include "executor/executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

/* Paths are real programs, written down in the language's file: a version manager's shim on PATH
 * would cost ten times the start-up and is not visible inside. */
const char *executor_locate(const struct language *language)
{
    for (const char *const *path = language->binaries; *path; path++)
        if (access(*path, X_OK) == 0)
            return *path;
    return NULL;
}

static int unknown_language(const char *name, sbr_error *err)
{
    const char *names[64];
    const char *near;
    size_t n = 0;

    while (n < ARRAY_LEN(names) && language_table[n]) {
        names[n] = language_table[n]->name;
        n++;
    }
    near = text_nearest(name, names, n);
    return err_set(err, SBR_E_NOT_FOUND, "language",
                   "there is no language '%.60s'%s%s%s; `sandbox-run doctor` lists them", name,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int resolve_language(const sbr_request *req, struct plan_input *in, sbr_error *err)
{
    if (!req->language)
        return 0;
    in->language = language_find(req->language);
    if (!in->language)
        return unknown_language(req->language, err);
    in->binary = executor_locate(in->language);
    if (!in->binary)
        return err_set(err, SBR_E_NOT_FOUND, "language",
                       "%s is not installed; `apt-get install %s` brings it", in->language->name,
                       in->language->package);
    return 0;
}

static int resolve_policy(const sbr_request *req, struct plan_input *in, sbr_error *err)
{
    char names[200] = "";
    size_t used = 0;

    in->policy = policy_find(req->policy);
    if (in->policy)
        return 0;
    for (size_t i = 0; policy_table[i] && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 policy_table[i]->name);
    return err_set(err, SBR_E_NOT_FOUND, "policy", "there is no policy '%.60s'; choose one of: %s",
                   req->policy, names);
}

/* A build with test hooks can be told to leave a mechanism out or to fail in a step. */
static void read_test_hooks(struct plan_input *in)
{
#ifdef SBR_TEST_HOOKS
    in->test_without = getenv("SANDBOX_RUN_TEST_WITHOUT");
    in->test_fail = getenv("SANDBOX_RUN_TEST_FAIL");
    in->test_writable = getenv("SANDBOX_RUN_TEST_WRITABLE");
#else
    (void)in;
#endif
}

#define PLACE_PREFIX "sandbox-run-"

/* A name that nothing has: only a run without a private root makes the directory. */
static int name_place(char *place, size_t size, sbr_error *err)
{
    const char *dir = getenv("TMPDIR");
    char id[ENCODE_ID_SIZE];
    int n;

    if (encode_random_id(id) < 0)
        return err_set_errno(err, "plan", "cannot choose a name");
    n = snprintf(place, size, "%s/" PLACE_PREFIX "%s", dir && dir[0] == '/' ? dir : "/tmp", id);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, SBR_E_INVALID, "plan", "the path in TMPDIR is too long; shorten it");
    return 0;
}

static int plan_for(const struct features *features, const sbr_request *req, struct plan **ret,
                    sbr_error *err)
{
    char place[REQUEST_MAX_PATH];
    struct plan_input in = { .request = req, .features = features, .place = place };

    read_test_hooks(&in);
    if (resolve_language(req, &in, err) < 0 || resolve_policy(req, &in, err) < 0)
        return err->code;
    if (!features->user_namespaces && name_place(place, sizeof(place), err) < 0)
        return err->code;
    return planner_make(&in, ret, err);
}

int executor_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
{
    return plan_for(&rt->features, req, ret, err);
}

static int start_planned(sbr_job *job, const struct features *features, const sbr_request *req,
                         sbr_error *err)
{
    plan_free(job->plan);
    job->plan = NULL;
    if (plan_for(features, req, &job->plan, err) < 0 || !job->plan)
        return err->code;
    log_debug("plan", "isolation %s, %zu mount operations, %zu filter instructions",
              tier_name(job->plan->isolation.tier), job->plan->n_ops, plan_filter_len(job->plan));
    return sandbox_start(&job->box, job->plan, features, err);
}

/* Whether a new user namespace is refused by a container's filter, a chroot or the like is known
 * only when it happens; then the run is planned again for a machine without. */
static int start_anyhow(sbr_job *job, const sbr_runtime *rt, const sbr_request *req, sbr_error *err)
{
    struct features without = rt->features;
    int r = start_planned(job, &rt->features, req, err);

    if (r != SBR_E_UNSUPPORTED || strcmp(err->stage, "namespaces") != 0 || !without.user_namespaces)
        return r;
    log_info("sandbox", "%s", err->message);
    without.user_namespaces = false;
    without.barrier = BARRIER_REFUSED;
    return start_planned(job, &without, req, err);
}

static int job_bring_up(sbr_job *job, const sbr_runtime *rt, const sbr_request *req,
                        const struct monitor_options *options, sbr_error *err)
{
    if (start_anyhow(job, rt, req, err) < 0)
        return err->code;
    log_debug("sandbox", "set-up goes on inside");
    job->watching = true;
    return monitor_start(&job->monitor, &job->box, job->plan, options, err);
}

int executor_start(const sbr_runtime *rt, const sbr_request *req,
                   const struct monitor_options *options, sbr_job **ret, sbr_error *err)
{
    struct monitor_options plain = { .keep_output = true,
                                     .stdin_data = req->stdin_data,
                                     .stdin_len = req->stdin_data ? req->stdin_len : 0,
                                     .stdin_fd = -1,
                                     .started_us = clock_now_us() };
    sbr_job *job = calloc(1, sizeof(*job));

    if (!job)
        return err_set_oom(err, "executor");
    job->box.init.pidfd = -1;
    if (job_bring_up(job, rt, req, options ? options : &plain, err) < 0) {
        executor_free(job);
        return err->code;
    }
    *ret = job;
    return 0;
}

void executor_free(sbr_job *job)
{
    if (!job)
        return;
    if (job->watching) {
        monitor_done(&job->monitor);
        sandbox_end(&job->box);
        sandbox_done(&job->box);
    }
    plan_free(job->plan);
    free(job);
}

void executor_leave(sbr_job *job)
{
    if (!job || !job->watching)
        return;
    sandbox_end(&job->box);
    janitor_free(job->box.janitor);
}
