/* The part of a plan for init, as bytes.  Both sides are the same build on the same machine; the
 * version word detects a stale helper.  The decoder trusts nothing: it checks every length against
 * what is left, and the whole input must be used. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define PLAN_MAGIC 0x53425231u /* "SBR1" */

static void put_list(struct buf *out, const char *const *list)
{
    uint32_t n = 0;

    while (list[n])
        n++;
    buf_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_put_string(out, list[i]);
}

static void put_id(struct buf *out, struct inode_id id)
{
    buf_put_u64(out, id.device);
    buf_put_u64(out, id.inode);
}

static struct inode_id get_id(struct buf_reader *in)
{
    struct inode_id id;

    id.device = buf_reader_u64(in);
    id.inode = buf_reader_u64(in);
    return id;
}

static void put_ops(struct buf *out, const struct plan *plan)
{
    buf_put_u32(out, (uint32_t)plan->n_ops);
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        buf_put_u32(out, op->kind);
        buf_put_u32(out, op->flags);
        buf_put_string(out, op->from);
        buf_put_string(out, op->to);
        buf_put_u32(out, op->mode);
        buf_put_u64(out, op->device);
        put_id(out, op->was);
        buf_put_string(out, op->upper);
        buf_put_bytes(out, op->data, op->len);
    }
}

static void put_confinement(struct buf *out, const struct plan *plan)
{
    buf_put_u32(out, (uint32_t)plan->n_rlimits);
    for (size_t i = 0; i < plan->n_rlimits; i++) {
        buf_put_u32(out, plan->rlimits[i].resource);
        buf_put_u64(out, plan->rlimits[i].soft);
        buf_put_u64(out, plan->rlimits[i].hard);
    }
    buf_put_u32(out, (uint32_t)plan->n_rules);
    for (size_t i = 0; i < plan->n_rules; i++) {
        buf_put_string(out, plan->rules[i].path);
        buf_put_u32(out, plan->rules[i].access);
        buf_put_u32(out, plan->rules[i].optional);
        put_id(out, plan->rules[i].was);
    }
    buf_put_u32(out, (uint32_t)plan->landlock_abi);
    buf_put_u32(out, (uint32_t)plan->n_filters);
    for (size_t i = 0; i < plan->n_filters; i++)
        buf_put_bytes(out, plan->filters[i].insns,
                      plan->filters[i].len * sizeof(*plan->filters[i].insns));
}

static void put_ports(struct buf *out, const uint16_t *ports, size_t n)
{
    buf_put_u32(out, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        buf_put_u32(out, ports[i]);
}

static void put_network(struct buf *out, const struct plan *plan)
{
    buf_put_u32(out, plan->network);
    put_ports(out, plan->forward_ports, plan->n_forward_ports);
    put_ports(out, plan->ports, plan->n_ports);
    buf_put_u32(out, plan->n_published);
    buf_put_u32(out, plan->report);
}

static void put_collects(struct buf *out, const struct plan *plan)
{
    buf_put_u32(out, (uint32_t)plan->n_collects);
    for (size_t i = 0; i < plan->n_collects; i++) {
        buf_put_u32(out, plan->collects[i].what);
        buf_put_string(out, plan->collects[i].path);
        buf_put_u32(out, plan->collects[i].cow);
    }
}

int plan_encode(const struct plan *plan, struct buf *out, sbr_error *err)
{
    buf_put_u32(out, PLAN_MAGIC);
    buf_put_u64(out, plan->namespaces);
    buf_put_u32(out, plan->standby);
    buf_put_u32(out, plan->inside_uid);
    buf_put_u32(out, plan->inside_gid);
    buf_put_string(out, plan->hostname);
    buf_put_string(out, plan->run_dir);
    buf_put_string(out, plan->workdir);
    put_collects(out, plan);
    buf_put_u64(out, plan->scratch_bytes);
    buf_put_u64(out, plan->scratch_inodes);
    put_ops(out, plan);
    put_confinement(out, plan);
    put_list(out, (const char *const *)plan->argv);
    put_list(out, (const char *const *)plan->env);
    buf_put_u32(out, plan->kernel);
    buf_put_u32(out, plan->tty.rows);
    buf_put_u32(out, plan->tty.columns);
    buf_put_u32(out, plan->tty.streams);
    put_network(out, plan);
    buf_put_u32(out, plan->supervise);
    buf_put_u64(out, plan->memory_bytes);
    buf_put_u64(out, plan->cpu_ms);
    buf_put_u64(out, plan->max_processes);
    buf_put_u64(out, plan->deadline_ms);
    buf_put_string(out, plan->test_without);
    buf_put_string(out, plan->test_fail);
    return out->failed ? err_set_oom(err, "plan") : 0;
}

static size_t get_ports(struct buf_reader *in, uint16_t *ports, size_t max)
{
    uint32_t n = buf_reader_u32(in);

    if (n > max)
        in->failed = true;
    for (uint32_t i = 0; !in->failed && i < n; i++)
        ports[i] = (uint16_t)buf_reader_u32(in);
    return in->failed ? 0 : n;
}

static void get_network(struct plan *plan, struct buf_reader *in)
{
    uint32_t mode = buf_reader_u32(in);

    if (mode >= N_NETWORK_MODES)
        in->failed = true;
    else
        plan->network = (enum network_mode)mode;
    plan->n_forward_ports = get_ports(in, plan->forward_ports, PLAN_MAX_FORWARDS);
    plan->n_ports = get_ports(in, plan->ports, PLAN_MAX_PORTS);
    plan->n_published = buf_reader_u32(in);
    plan->report = buf_reader_u32(in) != 0;
}

static const char **get_list(struct plan *plan, struct buf_reader *in)
{
    uint32_t n = buf_reader_count(in);
    const char **list = plan_alloc(plan, ((size_t)n + 1) * sizeof(*list));

    for (uint32_t i = 0; list && i < n; i++) {
        list[i] = buf_reader_string(in);
        if (!list[i])
            in->failed = true;
    }
    if (!list)
        in->failed = true;
    return list;
}

static void get_ops(struct plan *plan, struct buf_reader *in)
{
    uint32_t n = buf_reader_count(in), n_cow = 0;

    plan->ops = calloc((size_t)n + 1, sizeof(*plan->ops));
    if (!plan->ops)
        in->failed = true;
    for (uint32_t i = 0; !in->failed && i < n; i++) {
        struct plan_op *op = &plan->ops[i];
        uint32_t kind = buf_reader_u32(in);

        op->kind = (enum op_kind)kind;
        op->flags = buf_reader_u32(in);
        op->from = buf_reader_string(in);
        op->to = buf_reader_string(in);
        op->mode = buf_reader_u32(in);
        op->device = buf_reader_u64(in);
        op->was = get_id(in);
        op->upper = buf_reader_string(in);
        op->data = buf_reader_bytes(in, &op->len);
        n_cow += kind == OP_COW;
        if (kind >= N_OPS || !op->to || n_cow > PLAN_MAX_COW || (kind == OP_COW && !op->from))
            in->failed = true;
        plan->n_ops++;
    }
}

/* Copies the instructions because the file does not align them. */
static void get_filter(struct plan *plan, struct buf_reader *in, struct policy_filter *filter)
{
    size_t bytes;
    const void *data = buf_reader_bytes(in, &bytes);
    struct policy_insn *insns;

    insns = data && bytes && bytes % sizeof(*insns) == 0 ? plan_alloc(plan, bytes) : NULL;
    if (!insns) {
        in->failed = true;
        return;
    }
    memcpy(insns, data, bytes);
    *filter = (struct policy_filter){ .insns = insns, .len = bytes / sizeof(*insns) };
}

static void get_filters(struct plan *plan, struct buf_reader *in)
{
    uint32_t n = buf_reader_u32(in);

    if (n > PLAN_MAX_FILTERS)
        in->failed = true;
    for (; !in->failed && plan->n_filters < n; plan->n_filters++)
        get_filter(plan, in, &plan->filters[plan->n_filters]);
}

static void get_confinement(struct plan *plan, struct buf_reader *in)
{
    plan->n_rlimits = buf_reader_u32(in);
    if (plan->n_rlimits > PLAN_MAX_RLIMITS) {
        plan->n_rlimits = 0;
        in->failed = true;
    }
    for (size_t i = 0; i < plan->n_rlimits; i++) {
        plan->rlimits[i].resource = buf_reader_u32(in);
        plan->rlimits[i].soft = buf_reader_u64(in);
        plan->rlimits[i].hard = buf_reader_u64(in);
    }
    plan->n_rules = buf_reader_u32(in);
    if (plan->n_rules > PLAN_MAX_RULES) {
        plan->n_rules = 0;
        in->failed = true;
    }
    for (size_t i = 0; i < plan->n_rules; i++) {
        uint32_t access;

        plan->rules[i].path = buf_reader_string(in);
        access = buf_reader_u32(in);
        plan->rules[i].access = (enum access_kind)access;
        plan->rules[i].optional = buf_reader_u32(in) != 0;
        plan->rules[i].was = get_id(in);
        if (!plan->rules[i].path || access > ACCESS_WRITE)
            in->failed = true;
    }
    plan->landlock_abi = (int)buf_reader_u32(in);
    get_filters(plan, in);
}

static void get_collects(struct plan *plan, struct buf_reader *in)
{
    uint32_t n = buf_reader_u32(in);

    if (n > PLAN_MAX_COLLECTS)
        in->failed = true;
    for (; !in->failed && plan->n_collects < n; plan->n_collects++) {
        struct plan_collect *collect = &plan->collects[plan->n_collects];
        uint32_t what = buf_reader_u32(in);

        collect->what = (enum collect_what)what;
        collect->path = buf_reader_string(in);
        collect->cow = buf_reader_u32(in);
        if (what >= N_COLLECTS || collect->cow >= PLAN_MAX_COW ||
            (what != COLLECTS_CHANGES && what != COLLECTS_NAMES && !collect->path))
            in->failed = true;
    }
}

static void get_standby(struct plan *plan, struct buf_reader *in)
{
    uint32_t standby = buf_reader_u32(in);

    if (standby >= N_STANDBY_KINDS)
        in->failed = true;
    else
        plan->standby = (enum standby_kind)standby;
}

int plan_decode(const void *data, size_t len, struct plan **ret, sbr_error *err)
{
    struct buf_reader in = { .data = data, .len = len };
    struct plan *plan = plan_new();

    if (!plan)
        return err_set_oom(err, "plan");
    if (buf_reader_u32(&in) != PLAN_MAGIC)
        in.failed = true;
    plan->namespaces = buf_reader_u64(&in);
    get_standby(plan, &in);
    plan->inside_uid = buf_reader_u32(&in);
    plan->inside_gid = buf_reader_u32(&in);
    plan->hostname = buf_reader_string(&in);
    plan->run_dir = buf_reader_string(&in);
    plan->workdir = buf_reader_string(&in);
    get_collects(plan, &in);
    plan->scratch_bytes = buf_reader_u64(&in);
    plan->scratch_inodes = buf_reader_u64(&in);
    get_ops(plan, &in);
    get_confinement(plan, &in);
    plan->argv = get_list(plan, &in);
    plan->env = get_list(plan, &in);
    plan->kernel = buf_reader_u32(&in) != 0;
    plan->tty.rows = buf_reader_u32(&in);
    plan->tty.columns = buf_reader_u32(&in);
    plan->tty.streams = buf_reader_u32(&in);
    get_network(plan, &in);
    plan->supervise = buf_reader_u32(&in) != 0;
    plan->memory_bytes = buf_reader_u64(&in);
    plan->cpu_ms = buf_reader_u64(&in);
    plan->max_processes = buf_reader_u64(&in);
    plan->deadline_ms = buf_reader_u64(&in);
    plan->test_without = buf_reader_string(&in);
    plan->test_fail = buf_reader_string(&in);
    if (in.failed || in.pos != len || !plan->hostname || !plan->workdir || !plan->argv[0]) {
        plan_free(plan);
        return err_set(err, SBR_E_BUG, "plan", "the plan that init was given is malformed");
    }
    *ret = plan;
    return 0;
}
