#include "plan/plan_image.h"

#include <string.h>

#include "plan/plan_root.h"

/* A program finds its own /dev, /proc and scratch space in every image. */
static const char *const ours[] = { "dev", "proc", "sys", "tmp", "work", ".cow", ".view" };
/* Where the stages of a language have what they need and leave what they make. */
static const char *const of_stages[] = { "driver", "prepared", "deps", "build", "toolchain" };

static const struct plan_op hosts_op = { .kind = OP_FILE,
                                         .flags = OP_OVER,
                                         .to = "etc/hosts",
                                         .mode = 0444,
                                         TEXT_FILE(
                                             "127.0.0.1 localhost sandbox\n::1 localhost\n") };

bool plan_image_is_ours(const char *name, const struct language *language)
{
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (!strcmp(name, ours[i]))
            return true;
    for (size_t i = 0; language && i < ARRAY_LEN(of_stages); i++)
        if (!strcmp(name, of_stages[i]))
            return true;
    return language && language->deps_link && !strcmp(name, language->deps_link);
}

int plan_image_writable(struct plan *plan, const char *path, sbr_error *err)
{
    if (!plan->landlock_abi)
        return 0;
    if (plan->n_rules == PLAN_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "plan", "there are more directories than rules");
    plan->rules[plan->n_rules++] = (struct plan_rule){ .path = path, .access = ACCESS_WRITE };
    return 0;
}

static int add_name(struct plan *plan, const struct plan_input *in,
                    const struct plan_image_name *name, sbr_error *err)
{
    bool read_only = plan_image_is_read_only(in);
    const char *path = plan_printf(plan, "/%s", name->name);
    struct plan_op op = { .kind = name->link ? OP_SYMLINK : (read_only ? OP_DIR : OP_SCRATCH),
                          .from = name->link ? plan_printf(plan, "%s", name->link) : NULL,
                          .mode = name->link ? 0 : 0755 };

    if (!path || (name->link && !op.from))
        return err_set_oom(err, "plan");
    op.to = path + 1;
    if (plan_add_op(plan, op, err) < 0)
        return err->code;
    return name->link || read_only ? 0 : plan_image_writable(plan, path, err);
}

static bool is_top(const struct plan_input *in, const char *name, size_t len)
{
    for (size_t i = 0; i < in->image->n_names; i++)
        if (strlen(in->image->names[i].name) == len &&
            !strncmp(in->image->names[i].name, name, len))
            return true;
    for (size_t i = 0; i < in->n_trees; i++) {
        const char *target = in->trees[i].target + 1;

        if (!strncmp(target, name, len) && (!target[len] || target[len] == '/'))
            return true;
    }
    return false;
}

/* The first name of a work directory that is to be made: in the root itself nothing can be made
 * once it is read-only. */
static int add_top_of_workdir(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *path = in->new_workdir ? in->new_workdir + 1 : "";
    size_t len = strcspn(path, "/");
    const struct plan_image_name top = { .name = plan_printf(plan, "%.*s", (int)len, path) };

    if (!top.name)
        return err_set_oom(err, "plan");
    if (!len || plan_image_is_ours(top.name, in->language) || is_top(in, path, len))
        return 0;
    return add_name(plan, in, &top, err);
}

int plan_image_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    struct plan_op resolver = plan_network_resolver(plan);

    if (plan_trees(plan, in, true, err) < 0)
        return err->code;
    for (size_t i = 0; i < in->image->n_names; i++)
        if (add_name(plan, in, &in->image->names[i], err) < 0)
            return err->code;
    if (add_top_of_workdir(plan, in, err) < 0)
        return err->code;
    resolver.flags |= OP_OVER;
    if (plan_add_op(plan, hosts_op, err) < 0)
        return err->code;
    if (plan_add_op(plan, resolver, err) < 0)
        return err->code;
    return plan_secrets_root(plan, in, err);
}
