/* cgroup v1: one hierarchy per controller (or pair), `tasks` files, no kill of a whole cgroup. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/cgroup.h"

#define CGROUP1_MAGIC 0x27e0eb
#define CACHE_LEFT (1u << 20) /* too little to matter to the next run */

static const char *const v1_names[N_CG] = {
    [CG_MEMORY] = "memory",
    [CG_PIDS] = "pids",
    [CG_CPUACCT] = "cpuacct",
    [CG_CPU] = "cpu",
};

/* True when the comma-separated list of a /proc/self/cgroup line names the controller. */
static bool line_has(const char *controllers, const char *end, const char *name)
{
    size_t len = strlen(name);

    while (controllers < end) {
        const char *comma = memchr(controllers, ',', (size_t)(end - controllers));
        const char *stop = comma ? comma : end;

        if ((size_t)(stop - controllers) == len && !memcmp(controllers, name, len))
            return true;
        controllers = stop + 1;
    }
    return false;
}

/* Our own cgroup of a controller, from "4:memory:/path" in /proc/self/cgroup. */
static bool own_path(const char *text, const char *name, char *path, size_t size)
{
    for (const char *line = text; line && *line;) {
        const char *end = strchrnul(line, '\n');
        const char *controllers = memchr(line, ':', (size_t)(end - line));
        const char *where =
            controllers ? memchr(controllers + 1, ':', (size_t)(end - controllers - 1)) : NULL;

        if (where && line_has(controllers + 1, where, name)) {
            int n = snprintf(path, size, "/sys/fs/cgroup/%s%.*s", name, (int)(end - where - 1),
                             where + 1);

            return n > 0 && (size_t)n < size;
        }
        line = *end ? end + 1 : NULL;
    }
    return false;
}

static bool is_writable_group(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == CGROUP1_MAGIC && access(path, W_OK | X_OK) == 0;
}

static void v1_probe(struct cgroup_features *features)
{
    char text[8192];

    if (fd_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
        return;
    for (unsigned int i = 0; i < N_CG; i++) {
        char *parent = features->parent[i];

        if (!own_path(text, v1_names[i], parent, sizeof(features->parent[i])))
            continue;
        /* In a container the path may be the host's, while only our own cgroup is mounted. */
        if (access(parent, F_OK) < 0)
            snprintf(parent, sizeof(features->parent[i]), "/sys/fs/cgroup/%s", v1_names[i]);
        if (is_writable_group(parent))
            features->usable |= 1u << i;
    }
    if (features->usable)
        features->kind = CGROUP_V1;
}

static int limit_error(const char *what, sbr_error *err)
{
    return err_set_errno(err, "cgroup", "cannot limit %s", what);
}

/* Requests notice of out-of-memory kills: v1 kills one process, the supervisor the rest. */
static int watch_oom(struct cgroup *cg, sbr_error *err)
{
    scoped_fd int control =
        openat(cg->leaf_fd[CG_MEMORY], "memory.oom_control", O_RDONLY | O_CLOEXEC);
    scoped_fd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    char text[32];

    snprintf(text, sizeof(text), "%d %d", event, control);
    if (control < 0 || event < 0 ||
        fd_write_small(cg->leaf_fd[CG_MEMORY], "cgroup.event_control", text) < 0)
        return limit_error("memory: no notice of its end", err);
    cg->oom_fd = take_fd(event);
    return 0;
}

/* v1 counts data queued in internet sockets only here, and only where this limit is set, on top of
 * the memory limit.  It covers UDP as well, despite the name.  Some kernels lack it. */
static int limit_sockets(const struct cgroup *cg, uint64_t bytes)
{
    int r = cgroup_write(cg->leaf_fd[CG_MEMORY], "memory.kmem.tcp.limit_in_bytes", bytes / 4);

    return r < 0 && errno != ENOENT && errno != EOPNOTSUPP ? -1 : 0;
}

static int limit_memory(struct cgroup *cg, uint64_t bytes, sbr_error *err)
{
    int fd = cg->leaf_fd[CG_MEMORY];

    /* The limit with swap may never be below the other: to raise both, raise that one first. */
    if (cgroup_write(fd, "memory.limit_in_bytes", bytes) < 0 &&
        (errno != EINVAL || cgroup_write(fd, "memory.memsw.limit_in_bytes", bytes) < 0 ||
         cgroup_write(fd, "memory.limit_in_bytes", bytes) < 0))
        return limit_error("memory", err);
    /* Absent when the kernel does not account for swap; then swappiness keeps pages in memory. */
    if (cgroup_write(fd, "memory.memsw.limit_in_bytes", bytes) < 0 && errno != ENOENT &&
        errno != EOPNOTSUPP)
        return limit_error("swap", err);
    if (cgroup_write(fd, "memory.swappiness", 0) < 0 && errno != ENOENT)
        return limit_error("swap", err);
    if (cg->has_network && limit_sockets(cg, bytes) < 0)
        return limit_error("memory of sockets", err);
    return cg->oom_fd < 0 ? watch_oom(cg, err) : 0;
}

static int v1_limit(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err)
{
    const uint64_t *value = limits->value;

    if (which & 1u << CG_MEMORY && limit_memory(cg, value[SBR_MEMORY_BYTES], err) < 0)
        return err->code;
    /* One more for init. */
    if (which & 1u << CG_PIDS &&
        cgroup_write(cg->leaf_fd[CG_PIDS], "pids.max", value[SBR_PIDS] + 1) < 0)
        return limit_error("processes", err);
    if (which & 1u << CG_CPU &&
        (cgroup_write(cg->leaf_fd[CG_CPU], "cpu.cfs_period_us", 100000) < 0 ||
         cgroup_write(cg->leaf_fd[CG_CPU], "cpu.cfs_quota_us", value[SBR_CPU_MILLIS] * 100) < 0))
        return limit_error("CPUs", err);
    return 0;
}

static uint64_t v1_cpu_us(const struct cgroup *cg)
{
    if (cg->leaf_fd[CG_CPUACCT] < 0)
        return 0;
    return cgroup_read_number(cg->leaf_fd[CG_CPUACCT], "cpuacct.usage") / 1000;
}

/* The total is exact; user and system time are sampled at ticks, so they only give a ratio. */
static void read_cpu(const struct cgroup *cg, struct cgroup_usage *usage)
{
    int fd = cg->leaf_fd[CG_CPUACCT];
    uint64_t total = v1_cpu_us(cg);
    uint64_t user = cgroup_read_number(fd, "cpuacct.usage_user") / 1000;
    uint64_t ticks = user + cgroup_read_number(fd, "cpuacct.usage_sys") / 1000;

    usage->cpu_user_us = ticks ? (uint64_t)((double)total * (double)user / (double)ticks) : 0;
    usage->cpu_system_us = total - usage->cpu_user_us;
}

static void v1_read(const struct cgroup *cg, struct cgroup_usage *usage)
{
    int memory = cg->leaf_fd[CG_MEMORY], pids = cg->leaf_fd[CG_PIDS];

    if (memory >= 0) {
        usage->peak_memory_bytes = cgroup_read_number(memory, "memory.max_usage_in_bytes");
        usage->oom_kills = cgroup_read_field(memory, "memory.oom_control", "oom_kill");
    }
    if (pids >= 0) {
        uint64_t peak = cgroup_read_number(pids, "pids.peak");

        usage->peak_processes = peak ? peak - 1 : 0;
        usage->refused_forks = cgroup_read_field(pids, "pids.events", "max");
    }
    if (cg->leaf_fd[CG_CPUACCT] >= 0)
        read_cpu(cg, usage);
}

static void v1_now(const struct cgroup *cg, struct cgroup_now *now)
{
    uint64_t processes = 0;

    if (cg->leaf_fd[CG_MEMORY] >= 0)
        now->memory_bytes = cgroup_read_number(cg->leaf_fd[CG_MEMORY], "memory.usage_in_bytes");
    if (cg->leaf_fd[CG_PIDS] >= 0)
        processes = cgroup_read_number(cg->leaf_fd[CG_PIDS], "pids.current");
    now->processes = processes ? processes - 1 : 0;
}

static void v1_forget_peaks(const struct cgroup *cg)
{
    if (cg->leaf_fd[CG_MEMORY] >= 0)
        (void)cgroup_write(cg->leaf_fd[CG_MEMORY], "memory.max_usage_in_bytes", 0);
}

/* Memory cgroups are expensive to make, and their counters can be reset.  The peak number of
 * processes cannot. */
static bool v1_is_reusable(unsigned int slot)
{
    return slot != CG_PIDS;
}

static bool holds_much(int memory)
{
    return cgroup_read_number(memory, "memory.usage_in_bytes") > CACHE_LEFT;
}

/* Raises the limits in the order that the kernel demands and frees page cache of dead processes.
 * Where the kernel cannot free it, the cgroup is not reused, because the next run would get less
 * memory than its limit. */
static bool v1_unlimit(const struct cgroup *cg)
{
    int memory = cg->leaf_fd[CG_MEMORY];
    bool empty = true;

    if (memory >= 0) {
        (void)fd_write_small(memory, "memory.memsw.limit_in_bytes", "-1");
        (void)fd_write_small(memory, "memory.limit_in_bytes", "-1");
        empty = !holds_much(memory) ||
                (cgroup_write(memory, "memory.force_empty", 0) == 0 && !holds_much(memory));
    }
    if (cg->leaf_fd[CG_CPU] >= 0)
        (void)fd_write_small(cg->leaf_fd[CG_CPU], "cpu.cfs_quota_us", "-1");
    return empty;
}

const struct cgroup_driver cgroup_v1_driver = { .probe = v1_probe,
                                                .limit = v1_limit,
                                                .read = v1_read,
                                                .cpu_us = v1_cpu_us,
                                                .now = v1_now,
                                                .forget_peaks = v1_forget_peaks,
                                                .is_reusable = v1_is_reusable,
                                                .unlimit = v1_unlimit };
