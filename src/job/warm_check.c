#include "job/warm_check.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "job/job_trees.h"
#include "job/warm_blueprint.h"
#include "plan/blueprint.h"

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

/* Where layers of a blueprint may be. */
struct places {
    char store[STORE_PATH_SIZE];
    char packages[STORE_PATH_SIZE]; /* of the image, for the language; empty: it brings none */
};

/* "STORE/KIND/KEY/tree": only the supervisor makes such names. */
static bool is_layer(void *context, enum layer layer, const char *path)
{
    const struct places *places = context;
    const char *store = places->store, *kind = store_kind_name(job_layers_kind(layer));
    size_t len = strlen(store), kind_len = strlen(kind);
    size_t key_len = SHA256_HEX_SIZE - 1;

    if (layer == LAYER_DEPS && places->packages[0] && !strcmp(path, places->packages))
        return true;
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
static int find_tools(const struct engine_request *request, struct image *image,
                      struct toolchain *tools, struct blueprint_claim *claim, sbr_error *err)
{
    struct toolchain_query query = { .root = image ? &image->root : NULL,
                                     .wanted = language_version_of(request->language) };

    if (!claim->language)
        return 0;
    claim->toolchain = tools;
    if (toolchain_find(claim->language, &query, tools, err) < 0)
        return err->code;
    if (!image)
        return client_config_expand(&claim->language->needs, &claim->needs, err);
    image_look_for_libc(image, claim->language);
    return 0;
}

static int find_language(const struct engine_request *request, struct blueprint_claim *claim,
                         sbr_error *err)
{
    if (!request->language[0])
        return 0;
    claim->language = language_find(request->language);
    return claim->language ? 0
                           : err_set(err, SBR_E_DENIED, "engine",
                                     "there is no language '%.63s' here", request->language);
}

/* Its trees as a run of it shows them. */
static void list_trees(const struct image *image, struct plan_tree trees[PLAN_MAX_IMAGE_TREES],
                       struct blueprint_claim *claim)
{
    for (size_t i = 0; i < image->n_trees; i++)
        trees[i] = (struct plan_tree){ .source = image->trees[i].source,
                                       .target = image->trees[i].target,
                                       .mode = image->trees[i].is_file ? VOLUME_RO : VOLUME_COW,
                                       .cow = COW_OVERLAY,
                                       .image = true };
    claim->image = &image->plan;
    claim->trees = trees;
    claim->n_trees = image->n_trees;
}

static int check_with(struct image *image, const struct plan *blueprint,
                      const struct engine_request *request, struct blueprint_claim *claim,
                      sbr_error *err)
{
    struct plan_tree trees[PLAN_MAX_IMAGE_TREES];
    struct places *places = claim->context;
    struct toolchain tools = { 0 };
    int r = find_tools(request, image, &tools, claim, err);

    if (image)
        list_trees(image, trees, claim);
    if (!image || !claim->language ||
        !image_packages_of(image, claim->language->name, places->packages,
                           sizeof(places->packages)))
        places->packages[0] = '\0';
    if (r == 0)
        r = blueprint_check(blueprint, claim, err);
    client_config_words_done(&claim->needs);
    return r;
}

int warm_check(const sbr_runtime *rt, const struct plan *blueprint,
               const struct engine_request *request, sbr_error *err)
{
    struct places places;
    struct image *image = NULL;
    struct blueprint_claim claim = { .stage = (enum stage)request->stage,
                                     .memory_bytes = request->memory_bytes,
                                     .features = &rt->features,
                                     .test_without = left_out(),
                                     .identity = warm_source_identity,
                                     .is_layer = is_layer,
                                     .context = &places };
    int r;

    if (plan_list_has(left_out(), "blueprint-check"))
        return 0;
    if (!warm_stage_is_frequent(claim.stage))
        return err_set(err, SBR_E_DENIED, "engine", "such a stage has no blueprint");
    r = store_path(places.store, sizeof(places.store), err);
    if (r == 0)
        r = find_policy(request, &claim, err);
    if (r == 0)
        r = find_language(request, &claim, err);
    if (r == 0 && request->image[0])
        r = image_open_id(request->image, claim.language, &image, err);
    if (r == 0)
        r = check_with(image, blueprint, request, &claim, err);
    image_free(image);
    return r;
}
