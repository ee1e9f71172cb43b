/* Features as JSON, for `doctor` and as fixtures of the planner's tests. */
#include "base/jsonw.h"
#include "plan/features.h"

static const char *const controller_names[N_CG] = {
    [CG_MEMORY] = "memory",
    [CG_PIDS] = "pids",
    [CG_CPUACCT] = "cpuacct",
    [CG_CPU] = "cpu",
};

const char *features_controller_name(enum cgroup_controller controller)
{
    return controller_names[controller];
}

static void put_cgroup(struct jsonw *j, const struct cgroup_features *cgroup)
{
    jsonw_open(j, "cgroup", '{');
    jsonw_text(j, "kind", plan_cgroup_kind_name(cgroup->kind));
    jsonw_open(j, "controllers", '[');
    for (unsigned int i = 0; i < N_CG; i++)
        if (cgroup->usable & 1u << i)
            jsonw_text(j, NULL, features_controller_name((enum cgroup_controller)i));
    jsonw_close(j, ']');
    jsonw_text(j, "need", plan_cgroup_need_name(cgroup->need));
    jsonw_close(j, '}');
}

/* A link is its target ("usr/bin"), a directory is true, an absent name is omitted. */
static void put_root(struct jsonw *j, const struct root_entry *root)
{
    jsonw_open(j, "root", '{');
    for (unsigned int i = 0; i < N_ROOT_NAMES; i++) {
        if (root[i].form == ROOT_LINK)
            jsonw_text(j, root_names[i], root[i].target);
        else if (root[i].form == ROOT_DIRECTORY)
            jsonw_bool(j, root_names[i], true);
    }
    jsonw_close(j, '}');
}

void features_put_json(struct jsonw *j, const char *key, const struct features *f)
{
    jsonw_open(j, key, '{');
    jsonw_number(j, "uid", f->uid);
    jsonw_bool(j, "privileged", f->privileged);
    jsonw_bool(j, "is_host_root", f->is_host_root);
    jsonw_bool(j, "mounts", f->mounts);
    jsonw_bool(j, "user_namespaces", f->user_namespaces);
    jsonw_text(j, "barrier", plan_barrier_name(f->barrier));
    jsonw_bool(j, "proc", f->proc);
    jsonw_bool(j, "seccomp", f->seccomp);
    jsonw_text(j, "cow", plan_cow_kind_name(f->cow));
    jsonw_number(j, "landlock_abi", (uint64_t)f->landlock_abi);
    put_cgroup(j, &f->cgroup);
    put_root(j, f->root);
    jsonw_number(j, "memory_bytes", f->machine.memory_bytes);
    jsonw_number(j, "cpus", f->machine.cpus);
    jsonw_close(j, '}');
}
