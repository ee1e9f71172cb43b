/* A plan as JSON: what `sandbox-run plan --json` prints and what golden tests compare. */
#include <inttypes.h>
#include <jansson.h>
#include <linux/sched.h>
#include <sys/resource.h>

#include "plan/plan.h"

/* clang-format off */
static const char *const cgroup_kinds[] = {
    [CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2",
};
static const char *const controller_names[N_CG] = {
    [CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPUACCT] = "cpuacct", [CG_CPU] = "cpu",
};
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
    { RLIMIT_DATA, "data" },
};
/* clang-format on */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *list_json(const char *const *list)
{
    json_t *array = json_array();

    for (; *list; list++)
        json_array_append_new(array, json_string(*list));
    return array;
}

static json_t *names_json(const char *const *names, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_string(names[i]));
    return array;
}

static json_t *op_json(const struct plan_op *op)
{
    json_t *object = json_pack("{s:s, s:s}", "op", op_name(op->kind), "to", op->to);

    if (op->from)
        json_object_set_new(object, "from", text_or_null(op->from));
    if (op->mode)
        json_object_set_new(object, "mode", json_sprintf("%04o", op->mode));
    if (op->kind == OP_SCRATCH) {
        json_object_set_new(object, "size", json_integer((json_int_t)op->size));
        json_object_set_new(object, "inodes", json_integer((json_int_t)op->inodes));
    }
    if (op->kind == OP_DEVICE)
        json_object_set_new(object, "device",
                            json_sprintf("%u:%u", (unsigned)(op->size >> 32), (unsigned)op->size));
    if (op->kind == OP_FILE || op->kind == OP_PROGRAM)
        json_object_set_new(object, "bytes", json_integer((json_int_t)op->len));
    if (op->flags & OP_OPTIONAL)
        json_object_set_new(object, "optional", json_true());
    if (op->flags & OP_PID_ONLY)
        json_object_set_new(object, "only", json_string("processes"));
    return object;
}

static json_t *rlimits_json(const struct plan *plan)
{
    json_t *object = json_object();

    for (size_t i = 0; i < plan->n_rlimits; i++)
        for (size_t k = 0; k < ARRAY_LEN(rlimit_names); k++)
            if (plan->rlimits[i].resource == rlimit_names[k].resource)
                json_object_set_new(object, rlimit_names[k].name,
                                    plan->rlimits[i].hard == RLIM_INFINITY
                                        ? json_null()
                                        : json_integer((json_int_t)plan->rlimits[i].hard));
    return object;
}

static json_t *rules_json(const struct plan *plan)
{
    json_t *array = json_array();

    for (size_t i = 0; i < plan->n_rules; i++)
        json_array_append_new(array, json_pack("{s:s, s:s}", "path", plan->rules[i].path, "access",
                                               access_names[plan->rules[i].access]));
    return array;
}

static json_t *cgroup_json(const struct plan *plan)
{
    json_t *controllers = json_array();

    for (unsigned int i = 0; i < N_CG; i++)
        if (plan->cgroup_controllers & (1u << i))
            json_array_append_new(controllers, json_string(controller_names[i]));
    return json_pack("{s:s, s:o}", "kind", cgroup_kinds[plan->cgroup_kind], "controllers",
                     controllers);
}

static json_t *limits_json(const struct limits *limits)
{
    json_t *object = json_object();

    for (unsigned int i = 0; i < N_LIMITS; i++)
        json_object_set_new(object, limit_defs[i].name,
                            limits->value[i] == LIMIT_NONE
                                ? json_null()
                                : json_integer((json_int_t)limits->value[i]));
    return object;
}

static json_t *isolation_json(const struct isolation *isolation)
{
    return json_pack("{s:s, s:o, s:o}", "tier", tier_name(isolation->tier), "mechanisms",
                     names_json(isolation->mechanisms, isolation->n_mechanisms), "missing",
                     names_json(isolation->missing, isolation->n_missing));
}

static json_t *namespaces_json(const struct plan *plan)
{
    json_t *array = json_array();

    for (size_t i = 0; i < ARRAY_LEN(namespace_names); i++)
        if (plan->namespaces & namespace_names[i].flag)
            json_array_append_new(array, json_string(namespace_names[i].name));
    return array;
}

char *plan_to_json(const struct plan *plan)
{
    json_t *root = json_object(), *ops = json_array();
    char *text;

    for (size_t i = 0; i < plan->n_ops; i++)
        json_array_append_new(ops, op_json(&plan->ops[i]));
    json_object_set_new(root, "namespaces", namespaces_json(plan));
    json_object_set_new(root, "uid", json_integer(plan->inside_uid));
    json_object_set_new(root, "hostname", text_or_null(plan->hostname));
    json_object_set_new(root, "cgroup", cgroup_json(plan));
    json_object_set_new(root, "supervise", json_boolean(plan->supervise));
    json_object_set_new(root, "mounts", ops);
    json_object_set_new(root, "rlimits", rlimits_json(plan));
    json_object_set_new(root, "landlock",
                        json_pack("{s:i, s:o}", "abi", plan->landlock_abi, "rules",
                                  rules_json(plan)));
    json_object_set_new(root, "seccomp_instructions", json_integer((json_int_t)plan->filter.len));
    json_object_set_new(root, "argv", list_json(plan->argv));
    json_object_set_new(root, "env", list_json(plan->env));
    json_object_set_new(root, "workdir", text_or_null(plan->workdir));
    json_object_set_new(root, "limits", limits_json(&plan->limits));
    json_object_set_new(root, "isolation", isolation_json(&plan->isolation));
    text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    return text;
}
