/* The private tree and the program in it: the parts of a plan that are lists of operations. */
#ifndef PLAN_ROOT_H
#define PLAN_ROOT_H

#include "plan/plan.h"
#include "plan/planner.h"

/* The tree built from nothing: /usr, a minimal /etc, /proc, /dev, scratch space, volumes. */
int plan_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

/* The program's files, its command line and its environment. */
int plan_program(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

#endif
