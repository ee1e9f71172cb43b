/* A plan as JSON: `sandbox-run plan --json` prints it and golden tests compare it. */
#include <linux/sched.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/jsonw.h"
#include "plan/plan.h"

/* clang-format off */
static const char *const access_names[] = {
    [ACCESS_READ] = "read", [ACCESS_DEVICES] = "devices", [ACCESS_WRITE] = "write",
};
static const struct { uint64_t flag; const char *name; } namespace_names[] = {
    { CLONE_NEWUSER, "user" }, { CLONE_NEWNS, "mount" }, { CLONE_NEWPID, "pid" },
    { CLONE_NEWNET, "network" }, { CLONE_NEWIPC, "ipc" }, { CLONE_NEWUTS, "uts" },
    { CLONE_NEWCGROUP, "cgroup" },
};
static const struct { uint32_t resource; const char *name; } rlimit_names[] = {
    { RLIMIT_CORE, "core" }, { RLIMIT_NOFILE, "nofile" }, { RLIMIT_FSIZE, "fsize" },
    { RLIMIT_CPU, "cpu" }, { RLIMIT_NPROC, "nproc" }, { RLIMIT_MEMLOCK, "memlock" },
    { RLIMIT_DATA, "data" }, { RLIMIT_AS, "as" }, { RLIMIT_STACK, "stack" },
    { RLIMIT_SIGPENDING, "sigpending" },
};
/* clang-format on */

static void put_list(struct jsonw *j, const char *key, const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    jsonw_names(j, key, list, n);
}

static void put_op(struct jsonw *j, const struct plan_op *op)
{
    char text[32];

    jsonw_open(j, NULL, '{');
    jsonw_text(j, "op", plan_op_name(op->kind));
    jsonw_text(j, "to", op->to);
    if (op->from)
        jsonw_text(j, "from", op->from);
    if (op->mode) {
        snprintf(text, sizeof(text), "%04o", op->mode);
        jsonw_text(j, "mode", text);
    }
    if (op->kind == OP_DEVICE) {
        snprintf(text, sizeof(text), "%u:%u", (unsigned)(op->device >> 32), (unsigned)op->device);
        jsonw_text(j, "device", text);
    }
    if (op->kind == OP_FILE || op->kind == OP_PROGRAM)
        jsonw_number(j, "bytes", op->len);
    if (op->flags & OP_OPTIONAL)
        jsonw_bool(j, "optional", true);
    if (op->flags & OP_PASSED)
        jsonw_bool(j, "passed", true);
    if (op->flags & OP_WRITABLE)
        jsonw_bool(j, "writable", true);
    if (op->flags & OP_VIEW)
        jsonw_bool(j, "view", true);
    if (op->flags & OP_OWN)
        jsonw_bool(j, "copy", true);
    if (op->upper)
        jsonw_text(j, "upper", op->upper);
    if (op->flags & OP_PID_ONLY)
        jsonw_text(j, "only", "processes");
    jsonw_close(j, '}');
}

static void put_ops(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "mounts", '[');
    for (size_t i = 0; i < plan->n_ops; i++)
        put_op(j, &plan->ops[i]);
    jsonw_close(j, ']');
}

/* What trees of the user leave out. */
static void put_excluded(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "excluded", '[');
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        char path[4096];

        if (op->kind != OP_MASK || !(op->flags & OP_LEFT_OUT) || !op->from)
            continue;
        snprintf(path, sizeof(path), "/%s", op->to);
        jsonw_path(j, NULL, path);
    }
    jsonw_close(j, ']');
}

static void put_rlimits(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "rlimits", '{');
    for (size_t i = 0; i < plan->n_rlimits; i++) {
        for (size_t k = 0; k < ARRAY_LEN(rlimit_names); k++) {
            if (plan->rlimits[i].resource != rlimit_names[k].resource)
                continue;
            if (plan->rlimits[i].hard == RLIM_INFINITY)
                jsonw_null(j, rlimit_names[k].name);
            else
                jsonw_number(j, rlimit_names[k].name, plan->rlimits[i].hard);
        }
    }
    jsonw_close(j, '}');
}

static void put_landlock(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "landlock", '{');
    jsonw_number(j, "abi", (uint64_t)plan->landlock_abi);
    jsonw_open(j, "rules", '[');
    for (size_t i = 0; i < plan->n_rules; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "path", plan->rules[i].path);
        jsonw_text(j, "access", access_names[plan->rules[i].access]);
        if (plan->rules[i].optional)
            jsonw_bool(j, "optional", true);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    jsonw_close(j, '}');
}

static void put_cgroup(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "cgroup", '{');
    jsonw_text(j, "kind", plan_cgroup_kind_name(plan->cgroup_kind));
    jsonw_open(j, "controllers", '[');
    for (unsigned int i = 0; i < N_CG; i++)
        if (plan->cgroup_controllers & (1u << i))
            jsonw_text(j, NULL, features_controller_name((enum cgroup_controller)i));
    jsonw_close(j, ']');
    jsonw_close(j, '}');
}

static void put_namespaces(struct jsonw *j, const struct plan *plan)
{
    jsonw_open(j, "namespaces", '[');
    for (size_t i = 0; i < ARRAY_LEN(namespace_names); i++)
        if (plan->namespaces & namespace_names[i].flag)
            jsonw_text(j, NULL, namespace_names[i].name);
    jsonw_close(j, ']');
}

static void put_collects(struct jsonw *j, const struct plan *plan)
{
    static const char *const names[N_COLLECTS] = { "tree", "changes", "output", "work" };

    if (!plan->n_collects)
        return;
    jsonw_open(j, "collect", '[');
    for (size_t i = 0; i < plan->n_collects; i++) {
        const struct plan_collect *collect = &plan->collects[i];

        jsonw_open(j, NULL, '{');
        jsonw_text(j, "what", names[collect->what]);
        jsonw_text(j, "path", collect->path);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_tty(struct jsonw *j, const struct plan *plan)
{
    if (!plan->tty.rows)
        return;
    jsonw_open(j, "tty", '{');
    jsonw_number(j, "rows", plan->tty.rows);
    jsonw_number(j, "columns", plan->tty.columns);
    jsonw_number(j, "streams", plan->tty.streams);
    jsonw_close(j, '}');
}

char *plan_to_json(const struct plan *plan, bool pretty)
{
    struct jsonw j;

    jsonw_init(&j, pretty);
    jsonw_open(&j, NULL, '{');
    put_namespaces(&j, plan);
    jsonw_number(&j, "uid", plan->inside_uid);
    jsonw_text(&j, "hostname", plan->hostname);
    put_cgroup(&j, plan);
    jsonw_bool(&j, "supervise", plan->supervise);
    jsonw_number(&j, "scratch_bytes", plan->scratch_bytes);
    jsonw_number(&j, "scratch_inodes", plan->scratch_inodes);
    result_put_network(&j, "network", &plan->egress);
    publish_put_json(&j, "ports", &plan->publish);
    put_ops(&j, plan);
    put_excluded(&j, plan);
    put_rlimits(&j, plan);
    put_landlock(&j, plan);
    jsonw_text(&j, "policy", plan->policy->name);
    jsonw_number(&j, "seccomp_instructions", plan_filter_len(plan));
    put_list(&j, "argv", plan->argv);
    put_list(&j, "env", plan->env);
    if (plan->kernel)
        jsonw_number(&j, "kernel_fd", PLAN_KERNEL_FD);
    put_tty(&j, plan);
    if (plan->run_dir)
        jsonw_text(&j, "place", plan->run_dir);
    jsonw_text(&j, "workdir", plan->workdir);
    put_collects(&j, plan);
    result_put_limits(&j, "limits", &plan->limits);
    result_put_isolation(&j, "isolation", &plan->isolation);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}
