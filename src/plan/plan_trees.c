/* Trees of the user: volumes, and the project or workspace at /work. */
#include <string.h>

#include "plan/plan_image.h"
#include "plan/plan_root.h"

/* clang-format off */
static const char *const cow_mechanisms[N_COW_KINDS] = {
    [COW_OVERLAY] = "copy-on-write-overlay",
    [COW_DISK]    = "copy-on-write-disk",
    [COW_COPY]    = "copy-on-write-copy",
};
/* clang-format on */

bool plan_tree_is_seen(const struct plan_input *in, const struct plan_tree *tree)
{
    return in->stage == STAGE_RUN || tree->image || !strcmp(tree->target, INSIDE_WORK) ||
           !strcmp(tree->target, INSIDE_PROJECT);
}

const struct plan_tree *plan_tree_at_work(const struct plan_input *in)
{
    for (size_t i = 0; i < in->n_trees; i++)
        if (!strcmp(in->trees[i].target, INSIDE_WORK))
            return &in->trees[i];
    return NULL;
}

bool plan_writes_to_host(const struct plan_input *in)
{
    for (size_t i = 0; i < in->n_trees; i++)
        if (in->trees[i].mode == VOLUME_RW && plan_tree_is_seen(in, &in->trees[i]))
            return true;
    return false;
}

/* A `rw` tree shows the host's inodes, and so does a `ro` tree without a view. */
static bool shows_host(const struct plan_tree *tree)
{
    return tree->mode == VOLUME_RW || (tree->mode == VOLUME_RO && tree->plain);
}

/* A filter cannot see which socket a path leads to: one tree's permission holds for the run. */
bool plan_hides_sockets(const struct plan_input *in)
{
    bool shown = false;

    for (size_t i = 0; i < in->n_trees; i++) {
        if (!plan_tree_is_seen(in, &in->trees[i]))
            continue;
        if (in->trees[i].sockets)
            return false;
        shown |= shows_host(&in->trees[i]);
    }
    return shown;
}

bool plan_image_is_read_only(const struct plan_input *in)
{
    return in->image && in->request->read_only && in->stage == STAGE_RUN;
}

/* Mount points and our own files are made in an image before it becomes read-only.  A volume at the
 * same place covers it and keeps its own mode. */
static bool is_sealed(const struct plan_input *in, const struct plan_tree *tree)
{
    if (!tree->image || tree->mode != VOLUME_COW || !plan_image_is_read_only(in))
        return false;
    for (size_t i = 0; i < in->n_trees; i++)
        if (!in->trees[i].image && !strcmp(in->trees[i].target, tree->target))
            return false;
    return true;
}

static int add_rule(struct plan *plan, const struct plan_input *in, const struct plan_tree *tree,
                    sbr_error *err)
{
    /* The rules include /work already, and all of the root is readable. */
    if (!plan->landlock_abi || tree->mode == VOLUME_RO || is_sealed(in, tree) ||
        !strcmp(tree->target, INSIDE_WORK))
        return 0;
    if (plan->n_rules == PLAN_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "plan", "there are more trees than rules for them");
    plan->rules[plan->n_rules++] =
        (struct plan_rule){ .path = tree->target, .access = ACCESS_WRITE };
    return 0;
}

static int add_collect(struct plan *plan, struct plan_collect collect, sbr_error *err)
{
    if (plan->n_collects == PLAN_MAX_COLLECTS)
        return err_set(err, SBR_E_INVALID, "plan", "at most %d parts can be handed out",
                       PLAN_MAX_COLLECTS);
    plan->collects[plan->n_collects++] = collect;
    return 0;
}

/* Without a mapping, files keep their owners, and the run's uid owns no file of the host. */
static int check_owners(const struct plan_input *in, const struct plan_tree *tree, sbr_error *err)
{
    if (!in->features->privileged || in->features->mounts || tree->mode == VOLUME_RO)
        return 0;
    if (tree->mode == VOLUME_RW)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "root may not mount here, so nothing can be written to '%.200s' as its "
                       "owner; bring it in as cow, or call as an ordinary user",
                       tree->source);
    if (tree->cow == COW_COPY)
        return 0;
    err_set(err, SBR_E_UNSUPPORTED, "cow",
            "root may not mount here, so the owners of files in '%.200s' cannot be mapped",
            tree->source);
    return err_set_retry(err, ERR_WITH_OTHER_COW);
}

static uint32_t count_cow(const struct plan *plan)
{
    uint32_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++)
        n += plan->ops[i].kind == OP_COW;
    return n;
}

#define NO_FILE "dev/.left-out"
#define NO_DIRECTORY "dev/.left-out-directory"

/* In a copy, a directory above a mask could be renamed, and what it hides would count as deleted:
 * a mount on each keeps it where it is.  Overlayfs renames no directory that lies below. */
static int pin_directories(struct plan *plan, const struct plan_tree *tree, size_t index,
                           sbr_error *err)
{
    const char *path = tree->masks[index].path, *before = index ? tree->masks[index - 1].path : "";

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        int len = (int)(slash - path);
        struct plan_op pin = { .kind = OP_MASK, .flags = OP_LEFT_OUT | OP_DIRECTORY };

        if (!strncmp(path, before, (size_t)len + 1))
            continue;
        pin.to = plan_printf(plan, "%s/%.*s", tree->target + 1, len, path);
        if (!pin.to)
            return err_set_oom(err, "plan");
        if (plan_add_op(plan, pin, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_masks(struct plan *plan, const struct plan_tree *tree, sbr_error *err)
{
    for (size_t i = 0; i < tree->n_masks; i++) {
        struct plan_op mask = { .kind = OP_MASK,
                                .flags = OP_LEFT_OUT,
                                .from = tree->masks[i].directory ? NO_DIRECTORY : NO_FILE,
                                .to = plan_printf(plan, "%s/%s", tree->target + 1,
                                                  tree->masks[i].path) };

        if (tree->cow == COW_COPY && pin_directories(plan, tree, i, err) < 0)
            return err->code;
        if (!mask.to)
            return err_set_oom(err, "plan");
        if (plan_add_op(plan, mask, err) < 0)
            return err->code;
    }
    return 0;
}

/* Once all trees are there, because a mask may lie in any of them. */
static int plan_left_out(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    static const struct plan_op empties[] = {
        { .kind = OP_EMPTY, .to = NO_FILE },
        { .kind = OP_EMPTY, .to = NO_DIRECTORY, .flags = OP_DIRECTORY },
    };
    bool any = false;

    for (size_t i = 0; i < in->n_trees; i++)
        any |= in->trees[i].n_masks && plan_tree_is_seen(in, &in->trees[i]);
    if (!any || plan_list_has(in->test_without, "excludes"))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(empties); i++)
        if (plan_add_op(plan, empties[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < in->n_trees; i++)
        if (plan_tree_is_seen(in, &in->trees[i]) && add_masks(plan, &in->trees[i], err) < 0)
            return err->code;
    return 0;
}

static int add_tree(struct plan *plan, const struct plan_input *in, const struct plan_tree *tree,
                    sbr_error *err)
{
    bool overlaid = tree->mode == VOLUME_COW && tree->cow != COW_COPY;
    struct plan_op op = { .kind = overlaid ? OP_COW : OP_BIND,
                          .from = tree->source,
                          .to = tree->target + 1,
                          .was = tree->was,
                          .upper = overlaid && tree->cow == COW_DISK ? tree->upper : NULL };
    struct plan_collect changes = { .what = tree->names ? COLLECTS_NAMES : COLLECTS_CHANGES,
                                    .path = tree->target,
                                    .cow = count_cow(plan) };

    if (check_owners(in, tree, err) < 0)
        return err->code;
    if (in->image)
        op.flags |= OP_OVER;
    if (tree->image && in->image && in->image->kept)
        op.flags |= OP_IMAGE;
    if (is_sealed(in, tree))
        op.flags |= OP_SEALED;
    if (in->features->privileged && in->features->mounts)
        op.flags |= OP_PASSED;
    if (tree->mode == VOLUME_RO && !tree->plain && !tree->sockets)
        op.flags |= OP_VIEW | OP_VIEW_ONLY;
    if (tree->mode != VOLUME_RO && !overlaid)
        op.flags |= OP_WRITABLE | (tree->mode == VOLUME_COW ? OP_OWN : 0);
    if (overlaid && tree->collect && add_collect(plan, changes, err) < 0)
        return err->code;
    if (plan_add_op(plan, op, err) < 0)
        return err->code;
    return add_rule(plan, in, tree, err);
}

/* Reports the copy-on-write kinds and what bounds a workspace: scratch space or periodic checks. */
static void tell_mechanisms(struct plan *plan, const struct plan_input *in)
{
    bool used[N_COW_KINDS] = { false }, plain = false;
    const struct plan_tree *work = plan_tree_at_work(in);

    for (size_t i = 0; i < in->n_trees; i++) {
        const struct plan_tree *tree = &in->trees[i];

        if (!plan_tree_is_seen(in, tree))
            continue;
        used[tree->cow] |= tree->mode == VOLUME_COW;
        plain |= tree->mode == VOLUME_RO && tree->plain && !tree->sockets;
    }
    if (plain)
        result_add_missing(&plan->isolation, MISSING_INODES);
    for (unsigned int i = 0; i < N_COW_KINDS; i++)
        if (used[i])
            result_add_mechanism(&plan->isolation, cow_mechanisms[i]);
    if (!in->request->workspace || !work)
        return;
    if (work->cow == COW_OVERLAY)
        result_add_mechanism(&plan->isolation, "workspace-quota-tmpfs");
    else
        result_add_missing(&plan->isolation, "workspace quota by a file system of its own");
}

/* What an image names goes with the job; the plan may stay. */
static int keep_tree(struct plan *plan, const struct plan_input *in, struct plan_tree tree,
                     sbr_error *err)
{
    if (in->image) {
        tree.source = plan_printf(plan, "%s", tree.source);
        tree.target = plan_printf(plan, "%s", tree.target);
    }
    if (!tree.source || !tree.target)
        return err_set_oom(err, "plan");
    return add_tree(plan, in, &tree, err);
}

int plan_trees(struct plan *plan, const struct plan_input *in, bool of_image, sbr_error *err)
{
    for (size_t i = 0; i < in->n_trees; i++)
        if (in->trees[i].image == of_image && plan_tree_is_seen(in, &in->trees[i]) &&
            keep_tree(plan, in, in->trees[i], err) < 0)
            return err->code;
    if (of_image)
        return 0;
    tell_mechanisms(plan, in);
    return plan_left_out(plan, in, err);
}

int plan_outputs(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const struct output_rules *rules = &in->request->outputs;
    const struct plan_collect work = { .what = COLLECTS_WORK, .path = INSIDE_WORK + 1 };

    if (in->collect_work && add_collect(plan, work, err) < 0)
        return err->code;
    for (size_t i = 0; in->stage == STAGE_RUN && i < rules->n; i++) {
        struct plan_collect output = { .what = COLLECTS_OUTPUT,
                                       .path = plan_inside(plan, rules->items[i].pattern) };

        if (!output.path)
            return err_set_oom(err, "plan");
        if (add_collect(plan, output, err) < 0)
            return err->code;
    }
    return 0;
}
