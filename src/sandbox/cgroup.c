#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define CGROUP2_MAGIC 0x63677270

static const struct cgroup_driver *driver_of(const struct cgroup *cg)
{
    return cg->kind == CGROUP_V2 ? &cgroup_v2_driver : &cgroup_v1_driver;
}

/* The first read returns these files whole; a second read would cost as much. */
static bool read_once(int dir_fd, const char *file, char *text, size_t size)
{
    scoped_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

uint64_t cgroup_read_number(int dir_fd, const char *file)
{
    char text[64];

    return read_once(dir_fd, file, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* The number of the line "field number" in a file such as cpu.stat; 0 without such a line. */
uint64_t cgroup_read_field(int dir_fd, const char *file, const char *field)
{
    char text[4096];
    size_t len = strlen(field);

    if (!read_once(dir_fd, file, text, sizeof(text)))
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, field, len) && line[len] == ' ')
            return strtoull(line + len + 1, NULL, 10);
    return 0;
}

int cgroup_write(int dir_fd, const char *file, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    return fd_write_small(dir_fd, file, text);
}

static void cgroup_init(struct cgroup *cg)
{
    *cg = (struct cgroup){ .oom_fd = -1 };
    for (unsigned int i = 0; i < N_CG; i++)
        cg->parent_fd[i] = cg->leaf_fd[i] = -1;
}

/* On v2 all controllers share one directory, which uses the first slot. */
static unsigned int slots_of(const struct cgroup *cg)
{
    return cg->kind == CGROUP_V2 ? 1 : N_CG;
}

static bool slot_is_used(const struct cgroup *cg, unsigned int slot)
{
    return cg->kind == CGROUP_V2 || cg->controllers & (1u << slot);
}

void cgroup_take_plan(struct cgroup *cg, const struct plan *plan)
{
    cg->spares_init = plan->n_collects > 0;
    cg->has_network = plan->network != NETWORK_NONE && !plan_leaves_out(plan, "socket-memory");
}

/* The namespace in which our pids are valid; 0 without /proc. */
static uint64_t pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

int cgroup_open(struct cgroup *cg, const struct plan *plan, const struct cgroup_features *features,
                sbr_error *err)
{
    cgroup_init(cg);
    if (!plan->cgroup_controllers)
        return 0;
    if (features->need != CGROUP_READY)
        return err_set(err, SBR_E_BUG, "cgroup", "the cgroups were not prepared");
    cg->kind = plan->cgroup_kind;
    cgroup_take_plan(cg, plan);
    cg->controllers = plan->cgroup_controllers;
    /* The pid and its namespace identify the owner for cgroup_sweep; the time makes the name unique
     * after pid reuse. */
    snprintf(cg->name, sizeof(cg->name), CGROUP_PREFIX "%d.%" PRIu64 ".%" PRIx64, (int)getpid(),
             pid_namespace(), clock_now_us() ^ (uint64_t)(uintptr_t)cg << 20);
    for (unsigned int i = 0; i < slots_of(cg); i++) {
        if (!slot_is_used(cg, i))
            continue;
        cg->parent_fd[i] = open(features->parent[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cg->parent_fd[i] < 0) {
            err_set_errno(err, "cgroup", "cannot open '%s'", features->parent[i]);
            cgroup_destroy(cg);
            return err->code;
        }
    }
    return 0;
}

static int make_leaf(struct cgroup *cg, unsigned int slot, sbr_error *err)
{
    if (mkdirat(cg->parent_fd[slot], cg->name, 0755) < 0 && errno != EEXIST)
        return err_set_errno(err, "cgroup", "cannot make a cgroup");
    cg->leaf_fd[slot] =
        openat(cg->parent_fd[slot], cg->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (cg->leaf_fd[slot] < 0)
        return err_set_errno(err, "cgroup", "cannot open the cgroup");
    return 0;
}

int cgroup_make(struct cgroup *cg, sbr_error *err)
{
    for (unsigned int i = 0; i < N_CG; i++)
        if (cg->parent_fd[i] >= 0 && make_leaf(cg, i, err) < 0)
            return err->code;
    return 0;
}

int cgroup_limit(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err)
{
    which &= cg->controllers;
    return which ? driver_of(cg)->limit(cg, limits, which, err) : 0;
}

int cgroup_create(struct cgroup *cg, const struct limits *limits, sbr_error *err)
{
    return cgroup_make(cg, err) < 0 ? err->code : cgroup_limit(cg, limits, cg->controllers, err);
}

bool cgroup_is_whole(const struct cgroup *cg)
{
    for (unsigned int i = 0; i < N_CG; i++)
        if (cg->parent_fd[i] >= 0 && faccessat(cg->leaf_fd[i], "cgroup.procs", F_OK, 0) < 0)
            return false;
    return true;
}

int cgroup_renew(struct cgroup *cg, sbr_error *err)
{
    for (unsigned int i = 0; i < N_CG; i++) {
        if (cg->parent_fd[i] < 0 || driver_of(cg)->is_reusable(i))
            continue;
        if (unlinkat(cg->parent_fd[i], cg->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            return errno == EBUSY ? 1 : err_set_errno(err, "cgroup", "cannot remove a cgroup");
        scope_close_fd(&cg->leaf_fd[i]);
        if (make_leaf(cg, i, err) < 0)
            return err->code;
    }
    if (!driver_of(cg)->unlimit(cg))
        return err_set(err, SBR_E_BUSY, "cgroup", "what the dead left in it stays");
    return 0;
}

void cgroup_forget_peaks(const struct cgroup *cg)
{
    if (cg->controllers)
        driver_of(cg)->forget_peaks(cg);
}

int cgroup_clone_fd(const struct cgroup *cg)
{
    return cg->kind == CGROUP_V2 ? cg->leaf_fd[0] : -1;
}

int cgroup_open_tasks(const struct cgroup *cg, int fds[N_CG], sbr_error *err)
{
    int n = 0;

    if (cg->kind != CGROUP_V1)
        return 0;
    for (unsigned int i = 0; i < N_CG; i++) {
        if (cg->leaf_fd[i] < 0)
            continue;
        fds[n] = openat(cg->leaf_fd[i], "tasks", O_WRONLY | O_CLOEXEC);
        if (fds[n] < 0) {
            err_set_errno(err, "cgroup", "cannot open the cgroup's tasks");
            while (n > 0)
                close(fds[--n]);
            return err->code;
        }
        n++;
    }
    return n;
}

int cgroup_kill(const struct cgroup *cg)
{
    return cg->kind == CGROUP_V2 && cg->leaf_fd[0] >= 0
               ? cgroup_write(cg->leaf_fd[0], "cgroup.kill", 1)
               : -1;
}

int cgroup_freeze(const struct cgroup *cg, bool freeze)
{
    return cg->kind == CGROUP_V2 && cg->leaf_fd[0] >= 0
               ? cgroup_write(cg->leaf_fd[0], "cgroup.freeze", freeze)
               : -1;
}

void cgroup_read(const struct cgroup *cg, struct cgroup_usage *usage)
{
    *usage = (struct cgroup_usage){ 0 };
    if (cg->controllers)
        driver_of(cg)->read(cg, usage);
}

bool cgroup_is_removed(const struct cgroup *cg)
{
    int leaf = cg->leaf_fd[CG_MEMORY];

    return leaf >= 0 && faccessat(leaf, "cgroup.procs", F_OK, 0) < 0;
}

uint64_t cgroup_cpu_us(const struct cgroup *cg)
{
    return cg->controllers ? driver_of(cg)->cpu_us(cg) : 0;
}

void cgroup_read_now(const struct cgroup *cg, struct cgroup_now *now)
{
    *now = (struct cgroup_now){ 0 };
    if (cg->controllers)
        driver_of(cg)->now(cg, now);
}

ssize_t cgroup_read_pids(const struct cgroup *cg, char *text, size_t size)
{
    for (unsigned int i = 0; i < N_CG; i++)
        if (cg->leaf_fd[i] >= 0)
            return fd_read_small(cg->leaf_fd[i], "cgroup.procs", text, size);
    return -1;
}

/* The kernel may report the last task's exit before the task leaves the cgroup.  Without a pid
 * namespace init's exit does not wait for other processes, which takes longer on a slow machine. */
static void remove_leaf(const struct cgroup *cg, unsigned int slot)
{
    for (int attempt = 0; attempt < 5000; attempt++) {
        struct timespec moment = { .tv_nsec = 200000 };

        if (unlinkat(cg->parent_fd[slot], cg->name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            return;
        if (attempt == 0)
            (void)cgroup_kill(cg); /* ends any process that escaped */
        nanosleep(&moment, NULL);
    }
}

void cgroup_destroy(struct cgroup *cg)
{
    for (unsigned int i = 0; i < N_CG; i++) {
        if (cg->parent_fd[i] >= 0)
            remove_leaf(cg, i);
        scope_close_fd(&cg->leaf_fd[i]);
        scope_close_fd(&cg->parent_fd[i]);
    }
    scope_close_fd(&cg->oom_fd);
    cgroup_init(cg);
}

void cgroup_leave(struct cgroup *cg)
{
    for (unsigned int i = 0; i < N_CG; i++) {
        scope_close_fd(&cg->leaf_fd[i]);
        scope_close_fd(&cg->parent_fd[i]);
    }
    scope_close_fd(&cg->oom_fd);
    cgroup_init(cg);
}

/* Judges by the name.  Leaves of another pid namespace stay: their owner may be alive, and we
 * cannot see it. */
static bool is_of_the_dead(const char *leaf, uint64_t namespace)
{
    char *rest;
    long pid;

    if (strncmp(leaf, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) != 0)
        return false;
    pid = strtol(leaf + strlen(CGROUP_PREFIX), &rest, 10);
    if (pid <= 0 || *rest != '.' || strtoull(rest + 1, &rest, 10) != namespace || *rest != '.')
        return false;
    return pid != getpid() && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* The kernel removes only empty leaves. */
static void sweep_parent(const char *path, uint64_t namespace)
{
    scoped_dir DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (is_of_the_dead(entry->d_name, namespace))
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
}

void cgroup_sweep(const struct cgroup_features *features)
{
    uint64_t namespace = pid_namespace();

    for (unsigned int i = 0; namespace && i < N_CG; i++)
        if (features->parent[i][0])
            sweep_parent(features->parent[i], namespace);
}

/* Either v2 alone, or v1; a v2 mount beside v1 has no controller that we use. */
void cgroup_probe(struct cgroup_features *features)
{
    struct statfs fs;

    features->kind = CGROUP_NONE;
    if (statfs("/sys/fs/cgroup", &fs) < 0)
        return;
    if (fs.f_type == CGROUP2_MAGIC)
        cgroup_v2_driver.probe(features);
    else
        cgroup_v1_driver.probe(features);
}
