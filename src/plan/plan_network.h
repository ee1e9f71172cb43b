#ifndef PLAN_PLAN_NETWORK_H
#define PLAN_PLAN_NETWORK_H

#include "plan/planner.h"

/* Decides which network the stage has. */
int plan_network(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Adds the files of the private root for that network. */
struct plan_op plan_network_resolver(const struct plan *plan); /* the file that names one */
int plan_network_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

#endif
