#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const root_names[N_ROOT_NAMES] = { "bin", "lib", "lib32", "lib64", "sbin" };

static const char *const op_names[N_OPS] = {
    [OP_DIR] = "directory",   [OP_FILE] = "file",     [OP_SYMLINK] = "symlink",
    [OP_BIND] = "bind",       [OP_DEVICE] = "device", [OP_PROC] = "proc",
    [OP_MASK] = "mask",       [OP_DEVPTS] = "devpts", [OP_SCRATCH] = "scratch",
    [OP_PROGRAM] = "program", [OP_EMPTY] = "empty",
};

const char *op_name(enum op_kind kind)
{
    return op_names[kind];
}

struct plan *plan_new(void)
{
    return calloc(1, sizeof(struct plan));
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_arena; i++)
        free(plan->arena[i]);
    free(plan->arena);
    free(plan->ops);
    free(plan);
}

/* Takes over a heap block; frees it at once when it cannot be remembered. */
static void *plan_own(struct plan *plan, void *take_block)
{
    char **grown;

    if (!take_block)
        return NULL;
    grown = realloc(plan->arena, (plan->n_arena + 1) * sizeof(*grown));
    if (!grown) {
        free(take_block);
        return NULL;
    }
    plan->arena = grown;
    grown[plan->n_arena++] = take_block;
    return take_block;
}

void *plan_alloc(struct plan *plan, size_t size)
{
    return plan_own(plan, calloc(1, size));
}

char *plan_printf(struct plan *plan, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    return plan_own(plan, len < 0 ? NULL : text);
}

/* Grows by doubling: most plans have a few dozen operations, a directory of files has thousands. */
int plan_add_op(struct plan *plan, struct plan_op op, sbr_error *err)
{
    size_t n = plan->n_ops;

    if (n % 64 == 0 && (n & (n - 1)) == 0) {
        struct plan_op *grown = realloc(plan->ops, (n ? n * 2 : 64) * sizeof(*grown));

        if (!grown)
            return err_set_oom(err, "plan");
        plan->ops = grown;
    }
    plan->ops[plan->n_ops++] = op;
    return 0;
}

bool plan_list_has(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, len) && (p[len] == ',' || p[len] == '\0'))
            return true;
    return false;
}
