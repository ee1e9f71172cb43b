#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const root_names[N_ROOT_NAMES] = { "bin", "lib", "lib32", "lib64", "sbin" };

#define PLAN_CHUNK 4000

struct plan_chunk {
    struct plan_chunk *next;
    size_t size, used;
    char data[] __attribute__((aligned(16)));
};

static const char *const op_names[N_OPS] = {
    [OP_DIR] = "directory",   [OP_FILE] = "file",       [OP_SYMLINK] = "symlink",
    [OP_BIND] = "bind",       [OP_COPY] = "copy",       [OP_DEVICE] = "device",
    [OP_PROC] = "proc",       [OP_MASK] = "mask",       [OP_DEVPTS] = "devpts",
    [OP_SCRATCH] = "scratch", [OP_PROGRAM] = "program", [OP_EMPTY] = "empty",
    [OP_COW] = "cow",
};

const char *plan_cgroup_kind_name(enum cgroup_kind kind)
{
    static const char *const names[] = {
        [CGROUP_NONE] = "none",
        [CGROUP_V1] = "v1",
        [CGROUP_V2] = "v2",
    };

    return names[kind];
}

const char *plan_cgroup_need_name(enum cgroup_need need)
{
    static const char *const names[] = {
        [CGROUP_READY] = "nothing",
        [CGROUP_ENABLE] = "controllers",
        [CGROUP_LEAVE] = "leaving",
        [CGROUP_SCOPE] = "scope",
    };

    return names[need];
}

const char *plan_cow_kind_name(enum cow_kind kind)
{
    static const char *const names[N_COW_KINDS] = {
        [COW_OVERLAY] = "overlay",
        [COW_DISK] = "disk",
        [COW_COPY] = "copy",
    };

    return names[kind];
}

const char *plan_barrier_name(enum userns_barrier barrier)
{
    static const char *const names[N_BARRIERS] = {
        [BARRIER_NONE] = "none",
        [BARRIER_CLONE_SYSCTL] = "unprivileged_userns_clone",
        [BARRIER_MAX_SYSCTL] = "max_user_namespaces",
        [BARRIER_APPARMOR] = "apparmor_restrict_unprivileged_userns",
        [BARRIER_REFUSED] = "refused",
        [BARRIER_CHROOT] = "chroot",
        [BARRIER_COVERED_PROC] = "covered_proc",
    };

    return names[barrier];
}

const char *plan_op_name(enum op_kind kind)
{
    return op_names[kind];
}

bool plan_awaits_mounts(const struct plan *plan)
{
    bool found = false;

    for (size_t i = 0; i < plan->n_ops; i++)
        found |= plan->ops[i].kind == OP_COW || plan->ops[i].flags & OP_VIEW_ONLY;
    return found && !plan_leaves_out(plan, "mounts");
}

bool plan_is_of_image(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].flags & OP_IMAGE)
            return true;
    return false;
}

bool plan_has_tree(const struct plan *plan, const char *to)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if ((op->kind == OP_COW || (op->kind == OP_BIND && op->flags & OP_WRITABLE)) &&
            !strcmp(op->to, to))
            return true;
    }
    return false;
}

struct plan *plan_new(void)
{
    return calloc(1, sizeof(struct plan));
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    while (plan->arena) {
        struct plan_chunk *next = plan->arena->next;

        free(plan->arena);
        plan->arena = next;
    }
    free(plan->ops);
    if (plan->source)
        plan->free_source(plan->source);
    free(plan);
}

/* Allocates from the newest chunk; what does not fit gets a new chunk. */
void *plan_alloc(struct plan *plan, size_t size)
{
    struct plan_chunk *chunk = plan->arena;
    void *block;

    size = (size + 15) & ~(size_t)15;
    if (!chunk || size > chunk->size - chunk->used) {
        size_t room = size > PLAN_CHUNK ? size : PLAN_CHUNK;

        chunk = calloc(1, sizeof(*chunk) + room);
        if (!chunk)
            return NULL;
        chunk->size = room;
        chunk->next = plan->arena;
        plan->arena = chunk;
    }
    block = chunk->data + chunk->used;
    chunk->used += size;
    return block;
}

void plan_adopt(struct plan *plan, struct plan *from)
{
    struct plan_chunk **end = &plan->arena;

    while (*end)
        end = &(*end)->next;
    *end = from->arena;
    from->arena = NULL;
}

char *plan_printf(struct plan *plan, const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = len < 0 ? NULL : plan_alloc(plan, (size_t)len + 1);
    if (!text)
        return NULL;
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

/* Doubles the array: most plans have a few dozen operations, directories of files thousands. */
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

#ifdef SBR_TEST_HOOKS
bool plan_leaves_out(const struct plan *plan, const char *defence)
{
    return plan_list_has(plan->test_without, defence);
}
#else
bool plan_leaves_out(const struct plan *plan, const char *defence)
{
    (void)plan;
    (void)defence;
    return false;
}
#endif

size_t plan_filter_len(const struct plan *plan)
{
    size_t len = 0;

    for (size_t i = 0; i < plan->n_filters; i++)
        len += plan->filters[i].len;
    return len;
}
