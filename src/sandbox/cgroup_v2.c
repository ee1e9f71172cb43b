/* cgroup v2: one directory for all controllers, CLONE_INTO_CGROUP, kill of a whole cgroup. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/fd.h"
#include "sandbox/cgroup.h"

static int limit_error(const char *what, sbr_error *err)
{
    return err_set_errno(err, "cgroup", "cannot limit %s", what);
}

static int v2_limit(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err)
{
    const uint64_t *value = limits->value;
    int leaf = cg->leaf_fd[0];

    if (which & 1u << CG_MEMORY) {
        if (cgroup_write(leaf, "memory.max", value[SBR_MEMORY_BYTES]) < 0 ||
            cgroup_write(leaf, "memory.oom.group", cg->spares_init ? 0 : 1) < 0)
            return limit_error("memory", err);
        if (cgroup_write(leaf, "memory.swap.max", 0) < 0 && errno != ENOENT)
            return limit_error("swap", err);
    }
    if (which & 1u << CG_PIDS && cgroup_write(leaf, "pids.max", value[SBR_PIDS] + 1) < 0)
        return limit_error("processes", err);
    if (which & 1u << CG_CPU) {
        char text[48];

        snprintf(text, sizeof(text), "%" PRIu64 " 100000", value[SBR_CPU_MILLIS] * 100);
        if (fd_write_small(leaf, "cpu.max", text) < 0)
            return limit_error("CPUs", err);
    }
    return 0;
}

static void v2_read(const struct cgroup *cg, struct cgroup_usage *usage)
{
    int leaf = cg->leaf_fd[0];
    uint64_t peak = cgroup_read_number(leaf, "pids.peak");

    usage->peak_memory_bytes = cgroup_read_number(leaf, "memory.peak");
    usage->peak_processes = peak ? peak - 1 : 0;
    usage->oom_kills = cgroup_read_field(leaf, "memory.events", "oom_kill");
    usage->refused_forks = cgroup_read_field(leaf, "pids.events", "max");
    usage->cpu_user_us = cgroup_read_field(leaf, "cpu.stat", "user_usec");
    usage->cpu_system_us = cgroup_read_field(leaf, "cpu.stat", "system_usec");
}

static void v2_now(const struct cgroup *cg, struct cgroup_now *now)
{
    uint64_t processes = cgroup_read_number(cg->leaf_fd[0], "pids.current");

    now->memory_bytes = cgroup_read_number(cg->leaf_fd[0], "memory.current");
    now->processes = processes ? processes - 1 : 0;
}

static uint64_t v2_cpu_us(const struct cgroup *cg)
{
    return cgroup_read_field(cg->leaf_fd[0], "cpu.stat", "usage_usec");
}

/* A reset of peaks is valid only for the fd that made it, and we read by name.  So what a driver
 * used before its program started counts, if it is more than the program ever used. */
static void v2_forget_peaks(const struct cgroup *cg)
{
    (void)cg;
}

/* A single directory, which is cheap to make. */
static bool v2_is_reusable(unsigned int slot)
{
    (void)slot;
    return false;
}

static bool v2_unlimit(const struct cgroup *cg)
{
    (void)cg; /* the leaf is new */
    return true;
}

const struct cgroup_driver cgroup_v2_driver = { .probe = cgroup_v2_probe,
                                                .limit = v2_limit,
                                                .read = v2_read,
                                                .cpu_us = v2_cpu_us,
                                                .now = v2_now,
                                                .forget_peaks = v2_forget_peaks,
                                                .is_reusable = v2_is_reusable,
                                                .unlimit = v2_unlimit };
