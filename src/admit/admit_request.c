/* A body in JSON, or a command of ours, to a request that may run. */
#include <stdio.h>
#include <string.h>

#include "admit/admit.h"
#include "admit/grant_check.h"
#include "job/job_steps.h"

/* The field that an error of the reader names, if any: 'the field 'x' must be'. */
static void find_field(const json_t *body, struct refusal *refusal)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)body, key, value) {
        const char *at = strstr(refusal->err.message, key);
        size_t len = strlen(key);

        if (at && at > refusal->err.message && strchr("'`", at[-1]) && strchr("'`[", at[len])) {
            snprintf(refusal->field, sizeof(refusal->field), "%.60s", key);
            return;
        }
    }
}

static int read_body(const struct admit_door *door, const struct grant *grant, const json_t *body,
                     sbr_request **ret, struct refusal *refusal)
{
    json_t *resolved = door->resolve(door->context, grant, body, refusal);
    int r;

    if (!resolved)
        return refusal->err.code ? -1 : err_set_oom(&refusal->err, "request");
    r = request_from_value(resolved, ret, &refusal->err);
    json_decref(resolved);
    if (r == 0 && (r = request_complete(*ret, &refusal->err)) < 0)
        request_free(*ret);
    if (r == 0)
        return 0;
    refusal->kind = REFUSED_WRONG;
    find_field(body, refusal);
    return -1;
}

int admit_request(const struct admit_door *door, const struct grant *grant, const json_t *body,
                  sbr_request **ret, struct refusal *refusal)
{
    sbr_request *req = NULL;

    if (admit_fields(grant, body, refusal) < 0 || read_body(door, grant, body, &req, refusal) < 0)
        return -1;
    if (grant_check(grant, door->config, req, refusal) < 0 ||
        admit_workspace(door->ledger, grant, req, refusal) < 0) {
        request_free(req);
        return -1;
    }
    ledger_fit(door->ledger, grant, req);
    *ret = req;
    return 0;
}

int admit_base(const struct admit_door *door, const struct grant *grant, const char *workspace,
               sbr_request **ret, struct refusal *refusal)
{
    struct grant bounded = *grant;
    sbr_request *req = NULL;

    ledger_lower_ceilings(door->ledger, &bounded);
    if (request_new(NULL, NULL, &req, &refusal->err) < 0)
        return -1;
    if ((workspace && request_set_workspace(req, workspace, &refusal->err) < 0) ||
        grant_check(&bounded, door->config, req, refusal) < 0) {
        request_free(req);
        return -1;
    }
    grant_give_limits(&bounded, req);
    grant_give_ceilings(&bounded, &req->compile_limits);
    ledger_fit(door->ledger, grant, req);
    *ret = req;
    return 0;
}
