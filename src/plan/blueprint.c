#include "plan/blueprint.h"

#include <linux/sched.h>
#include <string.h>

#include "plan/plan_root.h"

#define ALL_NAMESPACES                                                                             \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)
#define BUILD_TARGET "build" /* what the compile stage left, for the run stage */

/* The copy-on-write trees of an image are the same for all runs; each has its own upper layer. */
static bool is_of_the_host(const struct plan_op *op)
{
    return (op->kind == OP_COW && !(op->flags & OP_IMAGE)) || op->upper ||
           (op->kind == OP_BIND && op->flags & OP_WRITABLE);
}

const char *blueprint_refusal(const struct plan *plan)
{
    if (plan->run_dir)
        return "it has no private root";
    if ((plan->namespaces & ALL_NAMESPACES) != ALL_NAMESPACES)
        return "it lacks a namespace";
    if (plan->supervise || plan->cgroup_kind == CGROUP_NONE)
        return "its limits are not all held by cgroups";
    if (network_goes_outside(plan->network))
        return "it has a network egress";
    if (plan->n_published)
        return "it publishes ports";
    if (plan->tty.rows)
        return "it has a terminal";
    if (plan->test_fail)
        return "a test makes it fail";
    for (size_t i = 0; i < plan->n_ops; i++)
        if (is_of_the_host(&plan->ops[i]))
            return "it writes to a tree of the host's";
    for (size_t i = 0; i < plan->n_collects; i++)
        if (plan->collects[i].what == COLLECTS_CHANGES || plan->collects[i].what == COLLECTS_NAMES)
            return "its changes are collected";
    return NULL;
}

static bool sees_foreign_code(const struct plan_input *in)
{
    return in->layers[LAYER_DEPS] || in->n_trees;
}

/* A zygote never runs code of others, and a runtime may run something out of every tree that it
 * sees: a sitecustomize.py of a package is enough.  The runtime of an image is code of others. */
static bool is_for_zygote(const struct plan_input *in)
{
    return in->language && in->language->warm.zygote.n && in->stage == STAGE_RUN &&
           !sees_foreign_code(in);
}

/* The command of the driver that waits for programs of this stage; NULL: a sandbox without one. */
static const struct words *driver_of(const struct plan_input *in)
{
    const struct words *words = NULL;

    if (is_for_zygote(in))
        words = &in->language->warm.zygote;
    else if (in->language && in->stage == STAGE_RUN)
        words = &in->language->warm.run;
    else if (in->language && in->stage == STAGE_COMPILE)
        words = &in->language->warm.compile;
    return words && words->n ? words : NULL;
}

/* The compiled program differs between runs: the blueprint has only its directory, and the program
 * arrives with the other files. */
static bool is_artifact(const struct plan_op *op, const struct plan_input *in)
{
    return op->kind == OP_BIND && in->stage == STAGE_RUN && in->layers[LAYER_BUILD] &&
           !strcmp(op->to, BUILD_TARGET);
}

static int copy_ops(struct plan *blueprint, const struct plan *plan, const struct plan_input *in,
                    sbr_error *err)
{
    static const struct plan_op place = {
        .kind = OP_SCRATCH, .flags = OP_APART, .to = BUILD_TARGET, .mode = 0755
    };

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (op->kind == OP_PROGRAM)
            continue;
        if (plan_add_op(blueprint, is_artifact(op, in) ? place : *op, err) < 0)
            return err->code;
    }
    return 0;
}

static void leave_out_what_is_late(struct plan *blueprint)
{
    blueprint->n_rlimits = 0;
    blueprint->workdir = INSIDE_WORK;
    blueprint->memory_bytes = blueprint->cpu_ms = blueprint->max_processes = 0;
    blueprint->deadline_ms = 0;
}

static int set_command(struct plan *blueprint, const struct plan *plan, const struct plan_input *in,
                       sbr_error *err)
{
    static const char *nothing[] = { "-", NULL };
    const struct words *driver = driver_of(in);

    if (!driver) {
        blueprint->standby = STANDBY_SHELL;
        blueprint->argv = nothing;
        blueprint->env = nothing + 1;
        return 0;
    }
    blueprint->standby = is_for_zygote(in) ? STANDBY_ZYGOTE : STANDBY_DRIVER;
    if (plan_drivers(blueprint, in, &in->language->warm.drivers, !stage_uses_drivers(in), err) < 0)
        return err->code;
    if (plan_waiting(blueprint, in, driver, err) < 0)
        return err->code;
    /* A user's variables never reach a zygote; its workers set them or leave the run to another. */
    if (in->language->warm.fixed_env && blueprint->standby == STANDBY_DRIVER)
        blueprint->env = plan->env;
    return 0;
}

int blueprint_make(const struct plan *plan, const struct plan_input *in, struct plan **ret,
                   sbr_error *err)
{
    struct plan *blueprint;

    for (size_t i = 0; i < in->n_trees; i++)
        if (!in->trees[i].image && plan_tree_is_seen(in, &in->trees[i]))
            return err_set(err, SBR_E_UNSUPPORTED, "park", "it sees a tree of the host's");
    blueprint = plan_new();
    if (!blueprint)
        return err_set_oom(err, "park");
    *blueprint = *plan;
    blueprint->arena = NULL; /* the arena stays with the plan, which outlives the blueprint */
    blueprint->ops = NULL;
    blueprint->n_ops = 0;
    if (copy_ops(blueprint, plan, in, err) < 0 || set_command(blueprint, plan, in, err) < 0) {
        plan_free(blueprint);
        return err->code;
    }
    leave_out_what_is_late(blueprint);
    *ret = blueprint;
    return 0;
}

void blueprint_key_of(const struct plan *blueprint, const struct buf *encoded,
                      char key[SHA256_HEX_SIZE])
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add_u64(&sum, blueprint->cgroup_kind);
    sha256_add_u64(&sum, blueprint->cgroup_controllers);
    sha256_add(&sum, encoded->data, encoded->len);
    sha256_finish_hex(&sum, key);
}

int blueprint_key(const struct plan *plan, char key[SHA256_HEX_SIZE], sbr_error *err)
{
    struct buf encoded;
    int r;

    buf_init(&encoded, 2 * REQUEST_MAX_BYTES);
    r = plan_encode(plan, &encoded, err);
    if (r == 0)
        blueprint_key_of(plan, &encoded, key);
    buf_done(&encoded);
    return r;
}
