/* sbr_execute: a line of shell, with a configuration of few words. */
#include "sandboxrun.h"

#include "base/json_read.h"
#include "model/executes.h"
#include "model/request.h"

static int read_request(const char *text, size_t len, sbr_request **ret, sbr_error *err)
{
    json_t *body = json_read(text, len, &json_read_document,
                             JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, "the execution", err),
           *request;
    int r = SBR_E_INVALID;

    if (!body)
        return err->code;
    request = execute_request(body, NULL, err);
    if (request)
        r = request_from_value(request, ret, err);
    json_decref(request);
    json_decref(body);
    return request ? r : err->code;
}

static int write_answer(const sbr_result *result, char **ret, sbr_error *err)
{
    scoped_free char *text = sbr_result_to_json(result);
    json_t *tree = json_read_own(text, JSON_ALLOW_NUL);
    json_t *answer = tree ? execute_answer(tree) : NULL;

    *ret = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    json_decref(answer);
    json_decref(tree);
    return *ret ? 0 : err_set_oom(err, "result");
}

int sbr_execute(sbr_runtime *rt, const char *json, size_t len, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r;

    if (!json || !ret)
        return err_set(e, SBR_E_INVALID, "request", "there is no text, or no place for the answer");
    r = read_request(json, len, &req, e);
    if (r == 0)
        r = sbr_run(rt, req, &result, e);
    if (r == 0)
        r = write_answer(result, ret, e);
    sbr_result_free(result);
    sbr_request_free(req);
    return r;
}
