/* --allow-command: a root without /usr, which has copies of the commands and of what they need.
 *
 * The program could otherwise start a command from any place that it can write to, or have the
 * loader of shared libraries map one: each such place is noexec, and files in memory are refused
 * (policies/nomemory.yaml). */
#include "plan/plan_root.h"

static int add_directory(struct plan *plan, const char *path, sbr_error *err)
{
    return plan_add_op(plan, (struct plan_op){ .kind = OP_DIR, .to = path, .mode = 0755 }, err);
}

/* Links such as /bin keep their meaning; what they lead to is there, if empty. */
static int add_top(struct plan *plan, const struct plan_input *in, unsigned int i, sbr_error *err)
{
    const struct root_entry *entry = &in->features->root[i];
    struct plan_op link = { .kind = OP_SYMLINK, .from = entry->target, .to = root_names[i] };

    if (entry->form == ROOT_ABSENT)
        return 0;
    if (entry->form != ROOT_LINK)
        return add_directory(plan, root_names[i], err);
    if (add_directory(plan, entry->target, err) < 0)
        return err->code;
    return plan_add_op(plan, link, err);
}

/* Data that the C library and shells read: without it characters are bytes, and lines cannot be
 * edited. */
static const struct plan_op data_ops[] = {
    { .kind = OP_BIND,
      .from = "/usr/lib/locale/C.utf8",
      .to = "usr/lib/locale/C.utf8",
      .flags = OP_OPTIONAL | OP_VIEW },
    { .kind = OP_BIND,
      .from = "/usr/lib/terminfo",
      .to = "usr/lib/terminfo",
      .flags = OP_OPTIONAL | OP_VIEW },
};

int plan_commands(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    if (add_directory(plan, "usr", err) < 0)
        return err->code;
    for (unsigned int i = 0; i < N_ROOT_NAMES; i++)
        if (add_top(plan, in, i, err) < 0)
            return err->code;
    for (size_t i = 0; i < ARRAY_LEN(data_ops); i++)
        if (plan_add_op(plan, data_ops[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < in->n_commands; i++) {
        struct plan_op copy = {
            .kind = OP_COPY, .from = in->commands[i].from, .to = in->commands[i].to, .mode = 0555
        };

        if (plan_add_op(plan, copy, err) < 0)
            return err->code;
    }
    result_add_mechanism(&plan->isolation, "allowed-commands");
    return 0;
}

void plan_forbid_programs(struct plan *plan, const struct plan_input *in)
{
    if (!in->n_commands || plan_list_has(in->test_without, "noexec"))
        return;
    for (size_t i = 0; i < plan->n_ops; i++) {
        struct plan_op *op = &plan->ops[i];

        if (op->kind == OP_SCRATCH || op->kind == OP_COW || op->kind == OP_BIND)
            op->flags |= OP_NOEXEC;
    }
}
