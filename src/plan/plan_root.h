/* The parts of a plan that are lists of operations: the private root and the program in it. */
#ifndef PLAN_PLAN_ROOT_H
#define PLAN_PLAN_ROOT_H

#include "plan/plan.h"
#include "plan/planner.h"

#define TEXT_FILE(text) .data = (text), .len = sizeof(text) - 1

/* Builds the root from nothing: /usr, a minimal /etc, /proc, /dev, scratch space, volumes. */
int plan_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

/* plan_etc.c: what the host's /etc has that programs need. */
int plan_etc(struct plan *plan, sbr_error *err) must_check;
/* The same where nothing is mounted; returns how many.  NULL: only counts. */
size_t plan_etc_rules(struct plan_rule *rules);

/* The commands of the request in place of /usr; then no other place has programs. */
int plan_commands(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
void plan_forbid_programs(struct plan *plan, const struct plan_input *in);

/* The same without namespaces: a directory, and what Landlock allows of the host's tree.
 * `plan->run_dir` is set. */
int plan_process_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
void plan_process_filters(struct plan *plan, const struct plan_input *in);

/* Volumes and the tree at /work, or the trees of the image. */
int plan_trees(struct plan *plan, const struct plan_input *in, bool of_image, sbr_error *err)
    must_check;
/* Patterns of files that are collected after the run. */
int plan_outputs(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Stages other than the program's own see only the tree at /work. */
bool plan_tree_is_seen(const struct plan_input *in, const struct plan_tree *tree);
const struct plan_tree *plan_tree_at_work(const struct plan_input *in); /* or NULL */
/* True when the program cannot change the image; stages before it may. */
bool plan_image_is_read_only(const struct plan_input *in);
/* True when the program writes to files of the host. */
bool plan_writes_to_host(const struct plan_input *in);
/* True when a volume shows inodes of the host and the program may not use sockets among them. */
bool plan_hides_sockets(const struct plan_input *in);

/* The program's path for an absolute path of the private root; NULL without memory. */
const char *plan_inside(struct plan *plan, const char *path);

/* The program's files, command line and environment. */
int plan_program(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Command line and environment of a driver that waits for a program; equal for all programs. */
int plan_waiting(struct plan *plan, const struct plan_input *in, const struct words *command,
                 sbr_error *err) must_check;

/* Decides which network the stage has. */
int plan_network(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Adds the files of the private root for that network. */
struct plan_op plan_network_resolver(const struct plan *plan); /* the file that names one */
int plan_network_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

/* What a stage with secrets has inside: placeholders, and trust in the certificates that the way
 * out shows.  Never a value. */
#define PLAN_SECRETS_ENV_MAX (SECRETS_MAX + 12)

/* Opens the hosts of the secrets; the mode is at least `allow` then. */
int plan_secrets_network(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* True for a path of the host whose place has the run's own trust. */
bool plan_secrets_replace(const struct plan *plan, const char *path);
/* Files of the root, in place of those of the host. */
int plan_secrets_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Variables; returns how many, or negative. */
int plan_secrets_env(struct plan *plan, const struct plan_input *in,
                     const char *ret[PLAN_SECRETS_ENV_MAX], sbr_error *err) must_check;

#endif
