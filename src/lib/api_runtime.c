/* sbr_runtime: the features of this machine. */
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "job/job.h"
#include "lib/runner.h"

#define CHECK_TEXT "sandbox-run works\n"

uint32_t sbr_version(void)
{
    return SBR_VERSION_MAJOR << 16 | SBR_VERSION_MINOR << 8 | SBR_VERSION_PATCH;
}

int sbr_runtime_open(const char *data_dir, sbr_runtime **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    if (!ret)
        return err_set(e, SBR_E_INVALID, "runtime", "there is no place for the runtime");
    if (data_dir)
        return err_set(e, SBR_E_INVALID, "runtime", "data_dir is reserved and must be NULL");
    return runner_open(RUNNER_LONG, false, ret, e);
}

/* The shell is in every sandbox.  What it prints shows that streams work, too. */
static int make_check(sbr_request **ret, sbr_error *err)
{
    static const char *const words[] = { "sh", "-c", "read line && echo \"$line\"" };

    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (request_add_arg(*ret, words[i], err) < 0)
            return err->code;
    return request_set_stdin(*ret, CHECK_TEXT, strlen(CHECK_TEXT), err);
}

static int judge_check(const sbr_result *result, sbr_error *err)
{
    if (result_success(result) && result->out.len == strlen(CHECK_TEXT) &&
        !memcmp(result->out.data, CHECK_TEXT, result->out.len))
        return 0;
    return err_set(err, SBR_E_SYSTEM, "check",
                   "a sandbox started, but its shell did not repeat a line: %s%s%.200s",
                   result_verdict_name(result->verdict), result->explanation[0] ? ", " : "",
                   result->explanation);
}

int sbr_runtime_check(sbr_runtime *rt, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r;

    if (!rt)
        return err_set(e, SBR_E_INVALID, "runtime", "there is no runtime");
    r = make_check(&req, e);
    if (r == 0)
        r = sbr_run(rt, req, &result, e);
    if (r == 0)
        r = judge_check(result, e);
    result_free(result);
    request_free(req);
    return r;
}

static void put_languages(struct jsonw *j)
{
    jsonw_open(j, "languages", '[');
    for (size_t i = 0; language_at(i); i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "name", language_at(i)->name);
        jsonw_text(j, "about", language_at(i)->about);
        jsonw_text(j, "binary", runner_locate(language_at(i)));
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_policies(struct jsonw *j)
{
    jsonw_open(j, "policies", '[');
    for (size_t i = 0; policy_at(i); i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "name", policy_at(i)->name);
        jsonw_text(j, "about", policy_at(i)->about);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

char *sbr_runtime_describe(const sbr_runtime *rt)
{
    struct jsonw j;

    if (!rt)
        return NULL;
    jsonw_init(&j, true);
    jsonw_open(&j, NULL, '{');
    put_languages(&j);
    put_policies(&j);
    features_put_json(&j, "features", &rt->features);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

void sbr_runtime_close(sbr_runtime *rt)
{
    if (!rt)
        return;
    engine_connections_free(rt->pool);
    free(rt);
}
