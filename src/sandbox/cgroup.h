/* Cgroups: limits and usage of the whole process tree.
 *
 * The supervisor makes and removes one leaf per run.  On v2 clone3 puts init into it.  On v1 init
 * moves itself by writing "0" to `tasks`, the only move that does not wait for a kernel-wide grace
 * period (7-15 ms after a pause).  Nothing is ever moved by its pid. */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/features.h"
#include "plan/plan.h"
#include "wire/handover_msg.h"

#define CGROUP_PREFIX "sandbox-run."

struct cgroup {
    bool spares_init; /* v2: out of memory does not kill init, which must still collect files */
    bool has_network; /* v1: internet sockets get a memory limit of their own */
    enum cgroup_kind kind;
    uint32_t controllers;
    char name[CGROUP_NAME_MAX];
    int parent_fd[N_CG]; /* -1: unused; v2 uses only the first */
    int leaf_fd[N_CG];
    /* v1: readable after an out-of-memory kill; -1: the kernel kills the whole cgroup itself */
    int oom_fd;
};

/* What everything in the leaf holds at this moment. */
struct cgroup_now {
    uint64_t memory_bytes;
    uint64_t processes; /* without init */
};

/* The same interface for v1 and v2. */
struct cgroup_driver {
    void (*probe)(struct cgroup_features *features);
    int (*limit)(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err);
    void (*read)(const struct cgroup *cg, struct cgroup_usage *usage);
    uint64_t (*cpu_us)(const struct cgroup *cg);
    void (*now)(const struct cgroup *cg, struct cgroup_now *now);
    void (*forget_peaks)(const struct cgroup *cg);
    /* True when the slot's counters can be reset; otherwise the leaf is made anew. */
    bool (*is_reusable)(unsigned int slot);
    /* False when memory of dead processes is still charged. */
    bool (*unlimit)(const struct cgroup *cg);
};

extern const struct cgroup_driver cgroup_v1_driver;
extern const struct cgroup_driver cgroup_v2_driver;

/* Finds out what this machine offers; changes nothing. */
void cgroup_probe(struct cgroup_features *features);
/* Prepares what `features->need` names: once per process before its first run, not during a run,
 * never to print a plan.  May ask systemd for a scope and move this process into it.  On failure
 * `features` describes what works without preparation. */
int cgroup_prepare(struct cgroup_features *features, sbr_error *err);

/* Opens the parents and chooses a name.  Makes nothing yet, so that the janitor can start first. */
int cgroup_open(struct cgroup *cg, const struct plan *plan, const struct cgroup_features *features,
                sbr_error *err) must_check;
/* Makes the leaves and sets the limits. */
int cgroup_create(struct cgroup *cg, const struct limits *limits, sbr_error *err) must_check;
/* The first half of cgroup_create: leaves can be made before the limits of a run are known. */
int cgroup_make(struct cgroup *cg, sbr_error *err) must_check;
/* Copies the plan's settings other than limits. */
void cgroup_take_plan(struct cgroup *cg, const struct plan *plan);
/* `which`: bits of the controllers to limit; those that `cg` does not have are ignored. */
int cgroup_limit(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err)
    must_check;
/* False when a leaf is gone: another process may remove a leaf while it is empty. */
bool cgroup_is_whole(const struct cgroup *cg);
/* Resets leaves whose processes are dead for the next run.  0; 1: a process has not left yet;
 * negative: the leaves are unusable. */
int cgroup_renew(struct cgroup *cg, sbr_error *err) must_check;
/* Restarts the peaks from the current usage, where the kernel supports that. */
void cgroup_forget_peaks(const struct cgroup *cg);
/* v2: the cgroup for clone3; otherwise -1. */
int cgroup_clone_fd(const struct cgroup *cg);
/* v1: opens the `tasks` files that init writes to; the caller closes them.  Their number, or
 * negative on failure. */
int cgroup_open_tasks(const struct cgroup *cg, int fds[N_CG], sbr_error *err);
/* Kills everything in the leaf at once, including processes that are being forked.  0, or -1 where
 * the kernel cannot (v1, or before 5.14). */
int cgroup_kill(const struct cgroup *cg);
/* Stops everything in the leaf, init too, or lets it go on.  0, or -1 where the kernel cannot.  Not
 * on v1: there a frozen process does not die, so that a dead supervisor would leave it for ever. */
int cgroup_freeze(const struct cgroup *cg, bool freeze);
void cgroup_read(const struct cgroup *cg, struct cgroup_usage *usage);
/* True when the leaf for memory is gone: v1 sends the notice of an out-of-memory kill then, too. */
bool cgroup_is_removed(const struct cgroup *cg);
uint64_t cgroup_cpu_us(const struct cgroup *cg);
/* Zeros for what no controller of the leaf counts. */
void cgroup_read_now(const struct cgroup *cg, struct cgroup_now *now);
/* The pids in the leaf, init's among them, as text with one in each line.  Its length, or -1. */
ssize_t cgroup_read_pids(const struct cgroup *cg, char *text, size_t size);
/* Removes the leaves, in which everything must be dead, and closes all fds. */
void cgroup_destroy(struct cgroup *cg);

/* Closes all fds and leaves the directories to their owner. */
void cgroup_leave(struct cgroup *cg);

/* Removes leaves whose supervisor was killed together with its janitor.  Not during a run. */
void cgroup_sweep(const struct cgroup_features *features);

/* Helpers of the drivers. */
uint64_t cgroup_read_number(int dir_fd, const char *file);
uint64_t cgroup_read_field(int dir_fd, const char *file, const char *field);
int cgroup_write(int dir_fd, const char *file, uint64_t value);

/* The cgroups of a sandbox that is made ahead.  They outlive the sandbox and serve one run after
 * another; a reset between runs cleans them. */
struct slot {
    struct cgroup cgroup;
};

/* Makes the cgroups, without limits. */
int cgroup_slot_open(struct slot *slot, const struct plan *plan,
                     const struct cgroup_features *features, sbr_error *err) must_check;
/* Resets a slot in which everything is dead.  0; negative: the slot is unusable, close it; 1: a
 * process has not left the cgroup yet, try again later. */
int cgroup_slot_reset(struct slot *slot, sbr_error *err) must_check;
/* Kills what is left and removes the cgroups. */
void cgroup_slot_close(struct slot *slot);

/* cgroup v2: the search for a parent cgroup, separate from the machine that it searches. */
struct cgroup_view {
    const char *mount;
    char own[CGROUP_PATH_MAX]; /* our cgroup, relative to the mount: "/user.slice/..." */
    bool managed;              /* by systemd */
    bool delegated;            /* our unit is delegated, although nothing marks it */
    bool may_prepare;          /* also consider parents that cgroup_prepare must change first */
};

/* Finds the best parent for leaves; `kind` is CGROUP_NONE when there is none. */
void cgroup_v2_find(const struct cgroup_view *view, struct cgroup_features *features);

void cgroup_v2_probe(struct cgroup_features *features);

#endif
