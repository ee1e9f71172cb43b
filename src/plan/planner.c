#include "plan/planner.h"

#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "plan/plan_image.h"
#include "plan/plan_root.h"

/* The supervisor ends a run in time.  Init waits that much longer before it does so itself. */
#define DEADLINE_MARGIN_MS 1000

/* clang-format off */
static const struct {
    uint64_t flag;
    const char *name;
} namespace_defs[] = {
    { CLONE_NEWUSER,   "user-namespace"    },
    { CLONE_NEWNS,     "mount-namespace"   },
    { CLONE_NEWPID,    "pid-namespace"     },
    { CLONE_NEWNET,    "network-namespace" },
    { CLONE_NEWIPC,    "ipc-namespace"     },
    { CLONE_NEWUTS,    "uts-namespace"     },
    { CLONE_NEWCGROUP, "cgroup-namespace"  },
};

static const struct {
    enum cgroup_controller controller;
    const char *name;
    const char *missing; /* what is only approximated without it */
} controller_defs[] = {
    { CG_MEMORY,  "memory-cgroup", "memory limit of the whole tree by cgroup" },
    { CG_PIDS,    "pids-cgroup",   "process limit of the whole tree by cgroup" },
    { CG_CPUACCT, "cpu-accounting", "CPU time of the whole tree by cgroup" },
    { CG_CPU,     "cpu-cgroup",    "--cpus by cgroup" },
};
/* clang-format on */

static void plan_namespaces(struct plan *plan, const struct plan_input *in)
{
    for (size_t i = 0; i < ARRAY_LEN(namespace_defs); i++) {
        if (!in->features->user_namespaces) {
            result_add_missing(&plan->isolation, namespace_defs[i].name);
            continue;
        }
        if (plan_list_has(in->test_without, namespace_defs[i].name))
            continue;
        plan->namespaces |= namespace_defs[i].flag;
        result_add_mechanism(&plan->isolation, namespace_defs[i].name);
    }
}

/* Init's own clock, for the case that the supervisor does not look.  0: none. */
static uint64_t deadline_of(const struct limits *limits)
{
    if (limits->value[SBR_WALL_MS] == LIMIT_NONE)
        return 0;
    return limits->value[SBR_WALL_MS] + limits->value[SBR_GRACE_MS] + DEADLINE_MARGIN_MS;
}

/* Uses the quota controller only for a quota, because it costs a cgroup for each run. */
static void plan_cgroup(struct plan *plan, const struct plan_input *in)
{
    const struct cgroup_features *cgroup = &in->features->cgroup;

    plan->cgroup_kind = cgroup->kind;
    for (size_t i = 0; i < ARRAY_LEN(controller_defs); i++) {
        uint32_t bit = 1u << controller_defs[i].controller;

        if (controller_defs[i].controller == CG_CPU &&
            plan->limits.value[SBR_CPU_MILLIS] == LIMIT_NONE)
            continue;
        if (plan_list_has(in->test_without, controller_defs[i].name))
            continue;
        if (cgroup->usable & bit) {
            plan->cgroup_controllers |= bit;
            result_add_mechanism(&plan->isolation, controller_defs[i].name);
        } else {
            result_add_missing(&plan->isolation, controller_defs[i].missing);
            plan->supervise = true;
        }
    }
    plan->memory_bytes = plan->limits.value[SBR_MEMORY_BYTES];
    plan->cpu_ms = plan->limits.value[SBR_CPU_MS];
    plan->max_processes = plan->limits.value[SBR_PIDS];
    plan->deadline_ms = deadline_of(&plan->limits);
}

/* Only the program itself has a terminal, not a compiler or an installer. */
static void plan_tty(struct plan *plan, const struct plan_input *in)
{
    const struct request_tty *tty = &in->request->tty;

    if (in->stage == STAGE_RUN && tty->rows)
        plan->tty = (struct plan_tty){ tty->rows, tty->columns, tty->streams };
}

static void plan_tier(struct plan *plan, const struct plan_input *in)
{
    if (!in->features->user_namespaces)
        plan->isolation.tier = TIER_PROCESS;
    else
        plan->isolation.tier =
            plan->supervise || in->features->is_host_root ? TIER_REDUCED : TIER_CONTAINER;
    if (in->features->is_host_root)
        result_add_missing(&plan->isolation, "a user other than root");
}

#define MISSING_NAMED 3 /* each is shorter than a third of the buffer */

/* A refusal names what is missing and the two ways to proceed. */
static int check_tier(const struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const struct isolation *isolation = &plan->isolation;
    char missing[200] = "";
    size_t used = 0;

    if (!in->features->proc)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "there is no procfs here; `mount -t proc proc /proc` brings it");
    if (plan->isolation.tier == TIER_PROCESS && in->features->landlock_abi == 0)
        return err_set(
            err, SBR_E_UNSUPPORTED, "plan",
            "this machine gives neither user namespaces nor Landlock, so nothing would keep the "
            "program from your files; `sandbox-run doctor` says how to get them");
    if (plan->isolation.tier == TIER_PROCESS && in->config &&
        in->config->network.mode != NETWORK_NONE)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces nothing is installed: the installer would stand beside "
                       "your own programs; `sandbox-run doctor` says how to get them");
    if (!in->features->seccomp)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "this kernel has no system call filters (CONFIG_SECCOMP_FILTER)");
    if (plan->isolation.tier >= in->request->require)
        return 0;
    for (size_t i = 0; i < isolation->n_missing && i < MISSING_NAMED; i++)
        used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s", i ? ", " : "",
                                 isolation->missing[i]);
    if (isolation->n_missing > MISSING_NAMED)
        snprintf(missing + used, sizeof(missing) - used, " and %zu more",
                 isolation->n_missing - MISSING_NAMED);
    return err_set(
        err, SBR_E_UNSUPPORTED, "plan",
        "this machine gives isolation '%s', not '%s' (missing: %s); `sandbox-run doctor` "
        "says how to get it, --allow-degraded runs without",
        request_tier_name(plan->isolation.tier), request_tier_name(in->request->require), missing);
}

/* Limits of each process, under the limits of the whole tree. */
static void plan_rlimits(struct plan *plan)
{
    const uint64_t *limit = plan->limits.value;
    uint64_t cpu_s =
        limit[SBR_CPU_MS] == LIMIT_NONE ? RLIM_INFINITY : (limit[SBR_CPU_MS] + 999) / 1000 + 1;
    uint64_t data = plan->supervise ? 4 * limit[SBR_MEMORY_BYTES] + (256ULL << 20) : RLIM_INFINITY;
    uint64_t nproc_slack = plan->cgroup_controllers & 1u << CG_PIDS ? 16 : 1;
    const struct plan_rlimit rlimits[] = {
        /* 1, not 0: a core_pattern that is a pipe ignores 0 and runs its handler on the host. */
        { RLIMIT_CORE, 1, 1 },
        { RLIMIT_NOFILE, limit[SBR_OPEN_FILES], limit[SBR_OPEN_FILES] },
        { RLIMIT_FSIZE, limit[SBR_DISK_BYTES], limit[SBR_DISK_BYTES] },
        { RLIMIT_CPU, cpu_s, cpu_s },
        /* Linux counts this for each user namespace since 5.14; one more for init.  Above the
         * cgroup's limit where there is one, because only the cgroup counts refusals. */
        { RLIMIT_NPROC, limit[SBR_PIDS] + nproc_slack, limit[SBR_PIDS] + nproc_slack },
        { RLIMIT_MEMLOCK, 8 << 20, 8 << 20 },
        /* Pending signals and timers, which the kernel counts per user: all runs and the host. */
        { RLIMIT_SIGPENDING, 4096, 4096 },
        /* Without a cgroup, init checks memory every few milliseconds.  This bounds what happens in
         * between, far enough above the limit that init ends the run and names the cause.  Not
         * RLIMIT_AS, which counts address space that Go, Node and the JVM reserve and never use. */
        { RLIMIT_DATA, data, data },
        /* The calling shell's limits should not matter here, as far as they can be raised. */
        { RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY },
        { RLIMIT_STACK, 8 << 20, RLIM_INFINITY },
    };

    _Static_assert(ARRAY_LEN(rlimits) <= PLAN_MAX_RLIMITS, "more limits than a plan holds");
    memcpy(plan->rlimits, rlimits, sizeof(rlimits));
    plan->n_rlimits = ARRAY_LEN(rlimits);
    result_add_mechanism(&plan->isolation, "rlimits");
}

static void plan_landlock(struct plan *plan, const struct plan_input *in)
{
    static const struct plan_rule rules[] = {
        { .path = "/", .access = ACCESS_READ },
        { .path = "/dev", .access = ACCESS_DEVICES },
        { .path = INSIDE_WORK, .access = ACCESS_WRITE },
        { .path = "/tmp", .access = ACCESS_WRITE },
        { .path = "/dev/shm", .access = ACCESS_WRITE },
    };

    plan->landlock_abi = in->features->landlock_abi;
    if (plan->landlock_abi == 0) {
        result_add_missing(&plan->isolation, "landlock");
        return;
    }
    if (plan_list_has(in->test_without, "landlock")) {
        plan->landlock_abi = 0;
        return;
    }
    memcpy(plan->rules, rules, sizeof(rules));
    plan->n_rules = ARRAY_LEN(rules);
    result_add_mechanism(&plan->isolation, "landlock");
}

static void plan_filters(struct plan *plan, const struct plan_input *in)
{
    if (plan_list_has(in->test_without, "seccomp"))
        return;
    plan->filters[plan->n_filters++] = plan->policy->filter;
    if (plan->run_dir)
        plan_process_filters(plan, in);
    if (plan_writes_to_host(in) && !plan_list_has(in->test_without, "nosetid"))
        plan->filters[plan->n_filters++] = policy_find("nosetid")->filter;
    /* Without namespaces the program can make no socket at all. */
    if (!plan->run_dir && plan_hides_sockets(in) && !plan_list_has(in->test_without, "nosockets"))
        plan->filters[plan->n_filters++] = policy_find("nosockets")->filter;
    if (in->n_commands && !plan_list_has(in->test_without, "nomemory"))
        plan->filters[plan->n_filters++] = policy_find("nomemory")->filter;
    result_add_mechanism(&plan->isolation, "seccomp");
    if (plan->policy->may_allow_more)
        result_add_missing(&plan->isolation, "the rules of a shipped policy");
}

static void plan_confinement(struct plan *plan, const struct plan_input *in)
{
    const struct plan_image_user *user = in->image ? in->image->user : NULL;

    plan->inside_uid = user ? user->uid : INSIDE_UID;
    plan->inside_gid = user ? user->gid : INSIDE_GID;
    plan->hostname = "sandbox";
    plan_rlimits(plan);
    if (!plan->run_dir)
        result_add_mechanism(&plan->isolation, "private-root");
    result_add_mechanism(&plan->isolation, "no-capabilities");
    result_add_mechanism(&plan->isolation, "no-new-privileges");
    plan_landlock(plan, in);
    plan_filters(plan, in);
    plan->report = !plan->run_dir && plan->n_filters > 0;
    plan->test_without = in->test_without;
    plan->test_fail = in->test_fail;
}

static int plan_fill(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    plan->limits = in->limits ? *in->limits : in->request->limits;
    if (limits_fit(&plan->limits, &in->features->machine, err) < 0)
        return err->code;
    plan_namespaces(plan, in);
    plan_cgroup(plan, in);
    plan_tier(plan, in);
    plan_tty(plan, in);
    if (check_tier(plan, in, err) < 0)
        return err->code;
    if (plan->isolation.tier == TIER_PROCESS &&
        !(plan->run_dir = plan_printf(plan, "%s", in->run_dir)))
        return err_set_oom(err, "plan");
    if (plan->run_dir && in->image)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces a program sees the host's files, not those of an image; "
                       "`sandbox-run doctor` says how to get them");
    if (plan->run_dir && in->n_commands)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces the program sees the host's commands, so none can be "
                       "left out; `sandbox-run doctor` says how to get them");
    if (plan_network(plan, in, err) < 0)
        return err->code;
    plan_confinement(plan, in);
    if ((plan->run_dir ? plan_process_root(plan, in, err) : plan_root(plan, in, err)) < 0 ||
        plan_stage(plan, in, err) < 0 || plan_outputs(plan, in, err) < 0)
        return err->code;
    plan_forbid_programs(plan, in);
    return plan_program(plan, in, err);
}

int planner_make(const struct plan_input *in, struct plan **ret, sbr_error *err)
{
    struct plan *plan = plan_new();

    if (!plan)
        return err_set_oom(err, "plan");
    if (plan_fill(plan, in, err) < 0) {
        plan_free(plan);
        return err->code;
    }
    *ret = plan;
    return 0;
}
