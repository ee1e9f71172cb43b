/* sbr_runtime: the features of this machine. */
#include <stdlib.h>

#include "base/jsonw.h"
#include "job/job.h"
#include "lib/runner.h"

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
