#include "job/warm_check.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_layers.h"
#include "job/warm_blueprint.h"
#include "plan/blueprint_check.h"

#ifdef SBR_TEST_HOOKS
static const char *left_out(void)
{
    return getenv("SANDBOX_RUN_TEST_WITHOUT");
}
#else
static const char *left_out(void)
{
    return NULL;
}
#endif

/* "STORE/KIND/KEY/tree": only the supervisor makes such names. */
static bool is_layer(void *context, enum layer layer, const char *path)
{
    const char *store = context, *kind = store_kind_name(job_layers_kind(layer));
    size_t len = strlen(store), kind_len = strlen(kind);
    size_t key_len = SHA256_HEX_SIZE - 1;

    if (strncmp(path, store, len) != 0 || path[len] != '/')
        return false;
    path += len + 1;
    if (strncmp(path, kind, kind_len) != 0 || path[kind_len] != '/')
        return false;
    path += kind_len + 1;
    return strspn(path, "0123456789abcdef") == key_len && !strcmp(path + key_len, "/tree");
}

static int find_policy(const struct engine_request *request, struct blueprint_claim *claim,
                       sbr_error *err)
{
    claim->policy = policy_find(request->policy[0] ? request->policy : NULL);
    if (!claim->policy || claim->policy->internal)
        return err_set(err, SBR_E_DENIED, "engine", "there is no policy '%.31s'", request->policy);
    return 0;
}

/* Starts nothing: the client that planned the run has noted the version of the tool. */
static int find_tools(const struct engine_request *request, struct toolchain *tools,
                      struct blueprint_claim *claim, sbr_error *err)
{
    struct toolchain_query query = { .wanted = language_version_of(request->language) };

    if (!request->language[0])
        return 0;
    claim->language = language_find(request->language);
    claim->toolchain = tools;
    if (!claim->language)
        return err_set(err, SBR_E_DENIED, "engine", "there is no language '%.63s' here",
                       request->language);
    if (toolchain_find(claim->language, &query, tools, err) < 0)
        return err->code;
    return client_config_expand(&claim->language->needs, &claim->needs, err);
}

int warm_check(const sbr_runtime *rt, const struct plan *blueprint,
               const struct engine_request *request, sbr_error *err)
{
    char store[STORE_PATH_SIZE];
    struct toolchain tools = { 0 };
    struct blueprint_claim claim = { .stage = (enum stage)request->stage,
                                     .memory_bytes = request->memory_bytes,
                                     .features = &rt->features,
                                     .test_without = left_out(),
                                     .identity = warm_source_identity,
                                     .is_layer = is_layer,
                                     .context = store };
    int r;

    if (plan_list_has(left_out(), "blueprint-check"))
        return 0;
    if (!warm_stage_is_frequent(claim.stage))
        return err_set(err, SBR_E_DENIED, "engine", "such a stage has no blueprint");
    r = store_path(store, sizeof(store), err);
    if (r == 0)
        r = find_policy(request, &claim, err);
    if (r == 0)
        r = find_tools(request, &tools, &claim, err);
    if (r == 0)
        r = blueprint_check(blueprint, &claim, err);
    client_config_words_done(&claim.needs);
    return r;
}
