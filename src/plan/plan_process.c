/* A run without namespaces: the program sees the host's own tree, of which Landlock allows only the
 * paths below, and a directory made for it that replaces /work and /tmp. */
#include <string.h>

#include "plan/plan_root.h"

/* clang-format off */
static const struct plan_op run_dir_ops[] = {
    { .kind = OP_SCRATCH, .to = "work", .mode = 0755 },
    { .kind = OP_SCRATCH, .to = "tmp",  .mode = 0755 },
};

/* What the private root shows of the host.  Not /proc: it shows all processes of the machine and
 * cannot be restricted. */
static const struct plan_rule run_dir_rules[] = {
    { "/usr",              ACCESS_READ,    false, { 0 } },
    { "/bin",              ACCESS_READ,    true , { 0 } },
    { "/lib",              ACCESS_READ,    true , { 0 } },
    { "/lib32",            ACCESS_READ,    true , { 0 } },
    { "/lib64",            ACCESS_READ,    true , { 0 } },
    { "/sbin",             ACCESS_READ,    true , { 0 } },
    { "/etc/localtime",    ACCESS_READ,    true , { 0 } },
    { "/dev/null",         ACCESS_DEVICES, false, { 0 } },
    { "/dev/zero",         ACCESS_DEVICES, true , { 0 } },
    { "/dev/full",         ACCESS_DEVICES, true , { 0 } },
    { "/dev/random",       ACCESS_DEVICES, true , { 0 } },
    { "/dev/urandom",      ACCESS_DEVICES, true , { 0 } },
};
/* clang-format on */

/* From this version on (Linux 6.12), Landlock keeps signals inside. */
#define ABI_WITH_SCOPES 6

static int add_rule(struct plan *plan, const char *path, enum access_kind access,
                    struct inode_id was, sbr_error *err)
{
    if (plan->n_rules == PLAN_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "plan",
                       "without namespaces at most %zu volumes can be given",
                       PLAN_MAX_RULES - ARRAY_LEN(run_dir_rules) - plan_etc_rules(NULL) - 2);
    plan->rules[plan->n_rules++] = (struct plan_rule){ .path = path, .access = access, .was = was };
    return 0;
}

/* Nothing can be mounted, so a tree keeps its path and its mode. */
static int add_tree(struct plan *plan, const struct plan_tree *tree, sbr_error *err)
{
    if (tree->mode == VOLUME_COW)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces '%.100s' cannot be brought in copy-on-write; bring it "
                       "in as ro or rw under its own name, or see `sandbox-run doctor`",
                       tree->source);
    if (strcmp(tree->source, tree->target) != 0) {
        err_set(err, SBR_E_UNSUPPORTED, "plan",
                "without namespaces '%s' cannot be brought in as '%s': a volume keeps its name, as "
                "in --volume /data:/data:ro, and lies outside /tmp, /usr and the like",
                tree->source, tree->target);
        return err_set_retry(err, ERR_UNDER_OWN_NAMES);
    }
    return add_rule(plan, tree->source, tree->mode == VOLUME_RW ? ACCESS_WRITE : ACCESS_READ,
                    tree->was, err);
}

static int add_trees(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    for (size_t i = 0; i < in->n_trees; i++)
        if (plan_tree_is_seen(in, &in->trees[i]) && add_tree(plan, &in->trees[i], err) < 0)
            return err->code;
    return 0;
}

static int add_rules(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *work = plan_inside(plan, INSIDE_WORK), *tmp = plan_inside(plan, "/tmp");
    const struct inode_id any = { 0 };

    if (!work || !tmp)
        return err_set_oom(err, "plan");
    memcpy(plan->rules, run_dir_rules, sizeof(run_dir_rules));
    plan->n_rules = ARRAY_LEN(run_dir_rules);
    plan->n_rules += plan_etc_rules(plan->rules + plan->n_rules);
    if (add_rule(plan, work, ACCESS_WRITE, any, err) < 0 ||
        add_rule(plan, tmp, ACCESS_WRITE, any, err) < 0)
        return err->code;
    if (plan->tty.rows && add_rule(plan, "/dev/tty", ACCESS_DEVICES, any, err) < 0)
        return err->code;
    return add_trees(plan, in, err);
}

int plan_process_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    result_add_missing(&plan->isolation, "private-root");
    result_add_missing(&plan->isolation, "disk limit by a file system of its own");
    plan->supervise = true;
    plan->scratch_bytes = plan->limits.value[SBR_DISK_BYTES];
    plan->scratch_inodes = plan->limits.value[SBR_INODES];
    for (size_t i = 0; i < ARRAY_LEN(run_dir_ops); i++)
        if (plan_add_op(plan, run_dir_ops[i], err) < 0)
            return err->code;
    return plan->landlock_abi ? add_rules(plan, in, err) : 0;
}

/* Trees outside /usr belong to the user, so the program could change their times. */
static bool shows_own_trees(const struct plan_input *in)
{
    bool shown = in->n_trees > 0 || in->needs.n > 0 || (in->toolchain && in->toolchain->tree[0]);

    for (unsigned int i = 0; i < N_LAYERS; i++)
        shown |= in->layers[i] != NULL;
    return shown;
}

void plan_process_filters(struct plan *plan, const struct plan_input *in)
{
    plan->filters[plan->n_filters++] = policy_find("process")->filter;
    if (plan->landlock_abi < ABI_WITH_SCOPES)
        plan->filters[plan->n_filters++] = policy_find("nosignals")->filter;
    if (shows_own_trees(in))
        plan->filters[plan->n_filters++] = policy_find("keeptimes")->filter;
}
