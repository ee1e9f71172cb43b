/* cgroup v2: one directory for all controllers, birth by CLONE_INTO_CGROUP, group kill.
 *
 * A group with processes in it cannot hand controllers to its children, so our leaf cannot be made
 * below the group that we are in, unless that is the root: it is made beside it, in the nearest
 * group above that we may write to and that hands the controllers down. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/cgroup.h"

#define V2_MOUNT "/sys/fs/cgroup"

static const struct {
    const char *name;
    uint32_t bits;
} v2_controllers[] = {
    { "memory", 1u << CG_MEMORY },
    { "pids", 1u << CG_PIDS },
    { "cpu", 1u << CG_CPU },
};

/* Controllers named in a file of blank-separated names. */
static uint32_t listed_controllers(const char *dir, const char *file)
{
    char path[CGROUP_PATH_MAX + 32], text[512];
    uint32_t bits = 0;
    char *rest = text;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
        return 0;
    for (char *word; (word = strsep(&rest, " \n"));)
        for (size_t i = 0; i < ARRAY_LEN(v2_controllers); i++)
            if (!strcmp(word, v2_controllers[i].name))
                bits |= v2_controllers[i].bits;
    return bits;
}

/* What a group can give to a leaf.  The root lets root switch controllers on. */
static uint32_t offered_controllers(const char *dir)
{
    uint32_t bits;

    if (access(dir, W_OK | X_OK) < 0)
        return 0;
    bits = listed_controllers(dir, "cgroup.subtree_control");
    if (!strcmp(dir, V2_MOUNT) && geteuid() == 0)
        bits |= listed_controllers(dir, "cgroup.controllers");
    return bits;
}

static void v2_probe(struct cgroup_features *features)
{
    const uint32_t wanted = 1u << CG_MEMORY | 1u << CG_PIDS;
    char text[CGROUP_PATH_MAX], dir[CGROUP_PATH_MAX * 2];
    char *own;

    if (fd_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0 ||
        strncmp(text, "0::/", 4) != 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    own = text + 3;
    snprintf(dir, sizeof(dir), V2_MOUNT "%s", strcmp(own, "/") != 0 ? own : "");
    for (;;) {
        uint32_t offered = offered_controllers(dir);
        char *slash;

        if ((offered & wanted) == wanted && strlen(dir) < CGROUP_PATH_MAX) {
            features->kind = CGROUP_V2;
            features->usable = offered | 1u << CG_CPUACCT; /* cpu.stat is in every group */
            memcpy(features->parent[0], dir, strlen(dir) + 1);
            return;
        }
        slash = strrchr(dir, '/');
        if (strlen(dir) <= strlen(V2_MOUNT) || !slash)
            return;
        *slash = '\0';
    }
}

static int limit_error(const char *what, sbr_error *err)
{
    return err_set_errno(err, "cgroup", "cannot limit %s", what);
}

/* Only the root needs it: everywhere else the controllers were found switched on. */
static void hand_down_controllers(const struct cgroup *cg)
{
    for (size_t i = 0; i < ARRAY_LEN(v2_controllers); i++) {
        char text[16];

        if (!(cg->controllers & v2_controllers[i].bits))
            continue;
        snprintf(text, sizeof(text), "+%s", v2_controllers[i].name);
        (void)fd_write_small(cg->parent_fd[0], "cgroup.subtree_control", text);
    }
}

static int v2_limit(struct cgroup *cg, const struct limits *limits, sbr_error *err)
{
    const uint64_t *value = limits->value;
    int leaf = cg->leaf_fd[0];

    if (faccessat(leaf, "memory.max", F_OK, 0) < 0)
        hand_down_controllers(cg);
    if (cg->controllers & 1u << CG_MEMORY) {
        if (cgroup_write(leaf, "memory.max", value[SBR_MEMORY_BYTES]) < 0 ||
            cgroup_write(leaf, "memory.oom.group", 1) < 0)
            return limit_error("memory", err);
        if (cgroup_write(leaf, "memory.swap.max", 0) < 0 && errno != ENOENT)
            return limit_error("swap", err);
    }
    if (cg->controllers & 1u << CG_PIDS && cgroup_write(leaf, "pids.max", value[SBR_PIDS] + 1) < 0)
        return limit_error("processes", err);
    if (cg->controllers & 1u << CG_CPU) {
        char text[48];

        snprintf(text, sizeof(text), "%" PRIu64 " 100000", value[SBR_CPU_MILLIS] * 100);
        if (fd_write_small(leaf, "cpu.max", text) < 0)
            return limit_error("processors", err);
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

static uint64_t v2_cpu_us(const struct cgroup *cg)
{
    return cgroup_read_field(cg->leaf_fd[0], "cpu.stat", "usage_usec");
}

const struct cgroup_driver cgroup_v2_driver = { v2_probe, v2_limit, v2_read, v2_cpu_us };
