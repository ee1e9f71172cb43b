
#include <string.h>

#include "plan/blueprint.h"

#define MAX_BYTES (1u << 20) /* of an encoded blueprint */
#define SOME_CPUS                                                                                  \
    1000 /* only whether there is a quota matters here; the run itself brings its size */

/* clang-format off */
static const struct {
    const char *inside;
    enum layer layer;
} layer_places[] = {
    { "prepared", LAYER_PREPARED },
    { "deps",     LAYER_DEPS     },
    { "build",    LAYER_BUILD    },
};
/* clang-format on */

static int refuse(const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_DENIED, "engine", "the blueprint %s", what);
}

void blueprint_mark_sources(struct plan *blueprint, uint64_t (*identity)(const char *path))
{
    for (size_t i = 0; i < blueprint->n_ops; i++)
        if (blueprint->ops[i].kind == OP_BIND || blueprint->ops[i].kind == OP_COPY ||
            blueprint->ops[i].kind == OP_COW)
            blueprint->ops[i].device = identity(blueprint->ops[i].from);
}

/* A compiled program has only a directory here; its source is known when it is installed there. */
static bool is_place(const struct plan_op *op)
{
    return op->kind == OP_SCRATCH && op->flags & OP_APART;
}

static int find_layer(const struct plan_op *op, const struct blueprint_claim *claim,
                      struct plan_input *in, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(layer_places); i++) {
        enum layer layer = layer_places[i].layer;

        if (strcmp(op->to, layer_places[i].inside) != 0)
            continue;
        if (layer == LAYER_BUILD && is_place(op))
            in->layers[layer] = "/build";
        else if (op->kind != OP_BIND)
            return 0;
        else if (!op->from || !claim->is_layer(claim->context, layer, op->from))
            return refuse("has a layer that is not in the store", err);
        else
            in->layers[layer] = op->from;
    }
    return 0;
}

static int find_layers(const struct plan *given, const struct blueprint_claim *claim,
                       struct plan_input *in, sbr_error *err)
{
    for (size_t i = 0; i < given->n_ops; i++)
        if (find_layer(&given->ops[i], claim, in, err) < 0)
            return err->code;
    return 0;
}

/* A size of 0 would mean no limit. */
static bool is_in_range(enum sbr_limit which, uint64_t value)
{
    return value > 0 && value <= limit_defs[which].max;
}

static int set_limits(const struct plan *given, const struct blueprint_claim *claim,
                      struct limits *ret, sbr_error *err)
{
    limits_init(ret);
    if (!is_in_range(SBR_DISK_BYTES, given->scratch_bytes) ||
        !is_in_range(SBR_INODES, given->scratch_inodes) ||
        !is_in_range(SBR_MEMORY_BYTES, claim->memory_bytes))
        return refuse("has sizes that no run can have", err);
    ret->value[SBR_DISK_BYTES] = given->scratch_bytes;
    ret->value[SBR_INODES] = given->scratch_inodes;
    ret->value[SBR_MEMORY_BYTES] = claim->memory_bytes;
    if (given->cgroup_controllers & 1u << CG_CPU)
        ret->value[SBR_CPU_MILLIS] = SOME_CPUS;
    return 0;
}

/* An option of runs in images. */
static bool is_read_only(const struct plan *given)
{
    for (size_t i = 0; i < given->n_ops; i++)
        if (given->ops[i].flags & OP_SEALED)
            return true;
    return false;
}

/* A request with default settings. */
static int make_request(const struct plan *given, const struct blueprint_claim *claim,
                        sbr_request **ret, sbr_error *err)
{
    sbr_request *req = NULL;
    int r =
        request_new(claim->language ? claim->language->name : NULL, claim->policy->name, &req, err);

    if (r == 0)
        r = claim->language ? request_set_code(req, "", 0, err) : request_add_arg(req, "true", err);
    if (r < 0) {
        request_free(req);
        return r;
    }
    req->require = TIER_PROCESS; /* blueprint_refusal demands more */
    req->network.mode = given->network;
    req->network_given = true;
    req->read_only = is_read_only(given);
    *ret = req;
    return 0;
}

/* Accepts output patterns: init, confined like the program, collects these files in the sandbox. */
static int take_outputs(struct plan *made, const struct plan *given, sbr_error *err)
{
    for (size_t i = made->n_collects; i < given->n_collects; i++) {
        if (given->collects[i].what != COLLECTS_OUTPUT)
            return refuse("hands out what it should not", err);
        made->collects[made->n_collects++] = given->collects[i];
    }
    return 0;
}

static void take_variables(struct plan *made, const struct plan *given,
                           const struct blueprint_claim *claim)
{
    if (made->standby == STANDBY_DRIVER && claim->language->warm.fixed_env)
        made->env = given->env;
}

static int compare(const struct plan *made, const struct plan *given, sbr_error *err)
{
    struct buf ours, theirs;
    bool same;

    buf_init(&ours, MAX_BYTES);
    buf_init(&theirs, MAX_BYTES);
    same = plan_encode(made, &ours, err) == 0 && plan_encode(given, &theirs, err) == 0 &&
           ours.len == theirs.len && !memcmp(ours.data, theirs.data, ours.len) &&
           made->cgroup_kind == given->cgroup_kind &&
           made->cgroup_controllers == given->cgroup_controllers;
    buf_done(&ours);
    buf_done(&theirs);
    return same ? 0 : refuse("is not the one that the planner makes", err);
}

static int check_against(const struct plan *plan, const struct plan_input *in,
                         const struct plan *given, const struct blueprint_claim *claim,
                         sbr_error *err)
{
    const char *why = blueprint_refusal(plan);
    struct plan *made;
    int r;

    if (why)
        return err_set(err, SBR_E_DENIED, "engine", "such a run has no blueprint: %s", why);
    if (blueprint_make(plan, in, &made, err) < 0)
        return err->code;
    blueprint_mark_sources(made, claim->identity);
    take_variables(made, given, claim);
    r = take_outputs(made, given, err);
    if (r == 0)
        r = compare(made, given, err);
    plan_free(made);
    return r;
}

int blueprint_check(const struct plan *given, const struct blueprint_claim *claim, sbr_error *err)
{
    struct plan_input in = { .language = claim->language,
                             .toolchain = claim->toolchain,
                             .needs = claim->needs,
                             .stage = claim->stage,
                             .policy = claim->policy,
                             .features = claim->features,
                             .image = claim->image,
                             .trees = claim->trees,
                             .n_trees = claim->n_trees,
                             .test_without = claim->test_without };
    struct limits limits;
    sbr_request *req = NULL;
    struct plan *plan = NULL;
    int r = find_layers(given, claim, &in, err);

    if (r == 0)
        r = set_limits(given, claim, &limits, err);
    if (r == 0)
        r = make_request(given, claim, &req, err);
    in.limits = &limits;
    in.request = req;
    if (r == 0 && !claim->features->user_namespaces)
        r = refuse("is of a machine with namespaces, and this one has none", err);
    if (r == 0)
        r = planner_make(&in, &plan, err);
    if (r == 0)
        r = check_against(plan, &in, given, claim, err);
    plan_free(plan);
    request_free(req);
    return r;
}
