/* A machine that has everything, and requests for it. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include "plan/planner.h"

/* x86_64, root, cgroup v2 with all controllers, user namespaces, seccomp, landlock. */
extern const struct features complete_machine;

#define ALL_CONTROLLERS (1u << CG_MEMORY | 1u << CG_PIDS | 1u << CG_CPUACCT | 1u << CG_CPU)

/* The inputs of a plan with what they own.  The request is a Python program of one line. */
struct plan_case {
    struct features features;
    sbr_request *request;
    struct plan_input in;
    struct plan_tree trees[PLAN_MAX_TREES]; /* of the request, when a plan is made */
    bool plain;                             /* no views can be had of them         */
};

void plan_case_init(struct plan_case *c);
void plan_case_done(struct plan_case *c);

/* Fails the test when there is no plan; the caller frees it. */
struct plan *plan_case_make(struct plan_case *c);
/* The plan, or NULL with the refusal. */
struct plan *plan_case_try(struct plan_case *c, sbr_error *err);

/* The operation with this target, or NULL. */
const struct plan_op *plan_find_op(const struct plan *plan, const char *to);

bool isolation_has(const struct isolation *isolation, const char *mechanism);
bool isolation_lacks(const struct isolation *isolation, const char *missing);

#endif
