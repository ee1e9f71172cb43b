/* Control groups: limits and measures of the whole tree of processes.
 *
 * One leaf per run, made and removed by the supervisor.  On v2 init is born in it; on v1 init moves
 * itself by writing "0" to `tasks`, the one move that does not wait for a grace period of the whole
 * kernel (7-15 ms after a pause).  Nothing is ever moved by its pid. */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdint.h>

#include "plan/plan.h"
#include "wire/handover_msg.h"

#define CGROUP_PREFIX "sandbox-run."

struct cgroup {
    bool
        spares_init; /* v2: a run out of memory does not end init, which has something to hand out */
    bool has_network; /* v1: what waits in sockets of the internet has a limit of its own */
    enum cgroup_kind kind;
    uint32_t controllers;
    char name[CGROUP_NAME_MAX];
    int parent_fd[N_CG]; /* -1: not used; v2 uses the first alone */
    int leaf_fd[N_CG];
    int oom_fd; /* v1: readable when the memory limit killed; -1: the kernel kills all by itself */
};

/* v1 and v2 behind the same five calls. */
struct cgroup_driver {
    void (*probe)(struct cgroup_features *features);
    int (*limit)(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err);
    void (*read)(const struct cgroup *cg, struct cgroup_usage *usage);
    uint64_t (*cpu_us)(const struct cgroup *cg);
    void (*forget_peaks)(const struct cgroup *cg);
    /* Whether what a slot counts can be brought back to a beginning; else the leaf is made anew. */
    bool (*is_reusable)(unsigned int slot);
    /* False: something of the dead is still counted. */
    bool (*unlimit)(const struct cgroup *cg);
};

extern const struct cgroup_driver cgroup_v1_driver;
extern const struct cgroup_driver cgroup_v2_driver;

/* What this machine offers; changes nothing. */
void cgroup_probe(struct cgroup_features *features);
/* What the features say must be done before the first run: once for each process, not on the way of
 * a run, never for a plan.  May ask systemd for a scope and moves this process into it.  On failure
 * the features say what there is without. */
int cgroup_prepare(struct cgroup_features *features, sbr_error *err);

/* Opens the parents and chooses a name; makes nothing yet, so that the janitor can be told first.
 */
int cgroup_open(struct cgroup *cg, const struct plan *plan, const struct cgroup_features *features,
                sbr_error *err) must_check;
/* Makes the leaves and sets the limits. */
int cgroup_create(struct cgroup *cg, const struct limits *limits, sbr_error *err) must_check;
/* The two halves of it: leaves can be made before the limits of a run are known. */
int cgroup_make(struct cgroup *cg, sbr_error *err) must_check;
/* What the plan says of them beside its limits. */
void cgroup_take_plan(struct cgroup *cg, const struct plan *plan);
/* `which` has a bit for each controller whose limit is set; those that the group is without do not matter. */
int cgroup_limit(struct cgroup *cg, const struct limits *limits, uint32_t which, sbr_error *err)
    must_check;
/* False when one of its leaves is gone: while nobody is in it, whoever may can remove it. */
bool cgroup_is_whole(const struct cgroup *cg);
/* Leaves whose processes are dead become as good as new, for another run.  0; 1: not all are dead yet; negative: they are
 * of no use any more. */
int cgroup_renew(struct cgroup *cg, sbr_error *err) must_check;
/* The peaks start from what is there now, where the kernel can do that. */
void cgroup_forget_peaks(const struct cgroup *cg);
/* v2: where clone3 puts init; -1 otherwise. */
int cgroup_clone_fd(const struct cgroup *cg);
/* v1: descriptors of `tasks` for init to write to; opened here, closed by the caller.  Number, or
 * negative on failure. */
int cgroup_open_tasks(const struct cgroup *cg, int fds[N_CG], sbr_error *err);
/* Ends everything in the leaf at once, also what is about to be born; 0, or -1 when the kernel (v1,
 * or before 5.14) cannot. */
int cgroup_kill(const struct cgroup *cg);
void cgroup_read(const struct cgroup *cg, struct cgroup_usage *usage);
uint64_t cgroup_cpu_us(const struct cgroup *cg);
/* Removes the leaves; everything in them is dead.  Closes all descriptors. */
void cgroup_destroy(struct cgroup *cg);

/* Closes all descriptors; the leaves are somebody else's. */
void cgroup_leave(struct cgroup *cg);

/* Removes leaves whose supervisor was killed together with its janitor.  Not on the way of a run.
 */
void cgroup_sweep(const struct cgroup_features *features);

/* Helpers of the drivers. */
uint64_t cgroup_read_number(int dir_fd, const char *file);
uint64_t cgroup_read_field(int dir_fd, const char *file, const char *field);
int cgroup_write(int dir_fd, const char *file, uint64_t value);

#endif
