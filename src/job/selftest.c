/* Runs the test that a language brings. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"

#define SECOND_MS 1000

/* True when an event of the job is there; false when a second has passed. */
static bool wait_second(const sbr_job *job)
{
    struct pollfd ready = { .fd = loop_fd(&job->loop), .events = POLLIN };

    return poll(&ready, 1, SECOND_MS) != 0;
}

static int finish_watched(sbr_job *job, const struct selftest_watch *watch, sbr_result **ret,
                          sbr_error *err)
{
    enum stage shown = N_STAGES;
    int r = JOB_GOES_ON;

    while (r == JOB_GOES_ON) {
        if (job->now.stage != shown || !wait_second(job))
            watch->tell(watch->context, job->now.stage);
        shown = job->now.stage;
        r = job_turn(job, false, err);
    }
    return r < 0 ? r : job_take_result(job, ret, err);
}

static int run_request(const sbr_runtime *rt, const sbr_request *req,
                       const struct selftest_watch *watch, sbr_result **ret, sbr_error *err)
{
    sbr_job *job;
    int r;

    if (job_start(rt, req, NULL, &job, err) < 0)
        return err->code;
    r = watch->tell ? finish_watched(job, watch, ret, err) : job_finish(job, ret, err);
    job_free(job);
    return r;
}

static int judge(const struct selftest *test, const sbr_result *result, char *why, size_t size)
{
    size_t len = strlen(test->stdout_text);

    if (result->verdict != SBR_EXITED) {
        snprintf(why, size, "%s %s", result_verdict_name(result->verdict), result->explanation);
    } else if (result->exit_code != test->exit_code) {
        snprintf(why, size, "exit code %d instead of %d: %.*s", result->exit_code, test->exit_code,
                 (int)(result->err.len < 120 ? result->err.len : 120),
                 result->err.data ? result->err.data : "");
    } else if (result->out.len != len || memcmp(result->out.data, test->stdout_text, len) != 0) {
        snprintf(why, size, "it printed other words than it should");
    } else {
        why[0] = '\0';
        return 1;
    }
    why[strcspn(why, "\n")] = '\0';
    return 0;
}

static int make_request(const struct language *language, const char *version, sbr_request **ret,
                        sbr_error *err)
{
    const struct selftest *test = &language->selftest;
    char name[100];

    snprintf(name, sizeof(name), "%s%s%s", language->name, version ? "@" : "",
             version ? version : "");
    if (request_new(name, NULL, ret, err) < 0)
        return err->code;
    request_set_require(*ret, TIER_PROCESS);
    (*ret)->complete = true;
    if (request_set_code(*ret, test->code, strlen(test->code), err) < 0 ||
        (test->stdin_text &&
         request_set_stdin(*ret, test->stdin_text, strlen(test->stdin_text), err) < 0)) {
        request_free(*ret);
        return err->code;
    }
    return 0;
}

int selftest_run(const sbr_runtime *rt, const struct language *language, const char *version,
                 const struct selftest_watch *watch, char *why, size_t size)
{
    sbr_request *req;
    sbr_result *result = NULL;
    sbr_error err;
    int r = make_request(language, version, &req, &err);

    if (r == 0) {
        r = run_request(rt, req, watch, &result, &err);
        request_free(req);
    }
    if (r < 0 || !result) {
        snprintf(why, size, "%s", err.message);
        return r;
    }
    r = judge(&language->selftest, result, why, size);
    result_free(result);
    return r;
}
