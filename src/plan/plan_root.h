/* The private tree and the program in it: the parts of a plan that are lists of operations. */
#ifndef PLAN_PLAN_ROOT_H
#define PLAN_PLAN_ROOT_H

#include "plan/plan.h"
#include "plan/planner.h"

#define TEXT_FILE(text) .data = (text), .len = sizeof(text) - 1

/* The tree built from nothing: /usr, a minimal /etc, /proc, /dev, scratch space, volumes. */
int plan_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

/* The same where there are no namespaces to build one in: a directory, and what Landlock leaves of
 * the host's tree.  `plan->place` is set. */
int plan_process_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
void plan_process_filters(struct plan *plan, const struct plan_input *in);

/* Volumes, and what stands at /work. */
int plan_trees(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* What is handed out by pattern, after the run. */
int plan_outputs(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Other stages than the program's own see what stands at /work alone. */
bool plan_tree_is_seen(const struct plan_input *in, const struct plan_tree *tree);
const struct plan_tree *plan_tree_at_work(const struct plan_input *in); /* or NULL */
/* Whether the program writes to files of the host's. */
bool plan_writes_to_host(const struct plan_input *in);
/* Whether it is shown inodes of the host's in a volume, and may not use the sockets among them. */
bool plan_hides_sockets(const struct plan_input *in);

/* How the program names an absolute path of the private root; NULL without memory. */
const char *plan_inside(struct plan *plan, const char *path);

/* The program's files, its command line and its environment. */
int plan_program(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Command line and environment of what waits for a program: nothing of them differs from one to the next. */
int plan_waiting(struct plan *plan, const struct plan_input *in, const struct words *command,
                 sbr_error *err) must_check;

#endif
