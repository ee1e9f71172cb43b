/* Runs the test that a language brings. */
#include <stdio.h>
#include <string.h>

#include "job/job.h"

static int run_request(const sbr_runtime *rt, const sbr_request *req, sbr_result **ret,
                       sbr_error *err)
{
    sbr_job *job;
    int r;

    if (job_start(rt, req, NULL, &job, err) < 0)
        return err->code;
    r = job_finish(job, ret, err);
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
                 char *why, size_t size)
{
    sbr_request *req;
    sbr_result *result = NULL;
    sbr_error err;
    int r = make_request(language, version, &req, &err);

    if (r == 0) {
        r = run_request(rt, req, &result, &err);
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
