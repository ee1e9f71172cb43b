/* One mechanism, one file, one interface.
 *
 * A mechanism has up to three sides.  `probe` runs outside and changes nothing.  Outside, before
 * the program exists, sandbox.c opens and creates what the mechanism needs.  `apply` runs
 * inside, in sandbox-run-init, after the new namespaces exist and before the program starts: it
 * may only give up rights. */
#ifndef CONFINE_CONFINER_H
#define CONFINE_CONFINER_H

#include <stddef.h>

#include "base/fd.h"
#include "plan/features.h"
#include "plan/plan.h"
#include "wire/control.h"

/* What this init is for. */
enum role {
    ROLE_RUN,     /* one run, from its beginning                                  */
    ROLE_FACTORY, /* makes sandboxes of one blueprint and never runs a program    */
    ROLE_SHELL,   /* a sandbox made by a factory; some steps wait for its program */
    N_ROLES
};

/* State of init while it confines itself. */
struct inside {
    const struct plan *plan;
    int control_fd;           /* to the supervisor                                        */
    int root_fd;              /* the sized tmpfs; its usage goes into the result          */
    int io_fd;                /* /proc/self/io, opened while init still may               */
    int proc_fd;              /* /proc, for supervision without cgroups                   */
    int trees[FD_MAX_PASSED]; /* cloned by the supervisor, in the order of the operations */
    size_t n_trees, next_tree;
    int uppers[PLAN_MAX_COW]; /* the upper directory of each OP_COW, read after the run */
    size_t n_uppers;
    int copies[PLAN_MAX_COW]; /* trees that are copies made for this run, to be measured */
    size_t n_copies;
    const char *apart; /* a shell's directory for an artifact, mounted read-only; NULL: none */
    int tty_fd;        /* the program's terminal; -1: none, or its streams are it already    */
    int apart_fd;      /* the same directory, writable until the program starts              */
    struct init_report *report;
    enum role role;
    /* Steps of a shell that wait for the program: see confine.c. */
    bool late_filter, late_landlock;
    bool has_view;        /* the directory that views need while they are mounted exists      */
    bool shares_inodes;   /* the kernel refused a view, so the program sees the host's inodes */
    bool is_second;       /* the program is a kernel beside another one                       */
    bool keeps_oom_score; /* the score could not be raised, see init/init_main.c              */
};

struct confiner {
    const char *name; /* stage of errors, heading in the manual */
    void (*probe)(struct features *features);
    int (*apply)(struct inside *in, sbr_error *err);
};

extern const struct confiner network_start_confiner;
extern const struct confiner namespaces_confiner;
extern const struct confiner mounts_confiner;
extern const struct confiner network_confiner;
extern const struct confiner cgroup_confiner;
extern const struct confiner program_confiner;
extern const struct confiner pty_confiner;
extern const struct confiner rlimits_confiner;
extern const struct confiner identity_confiner;
extern const struct confiner no_new_privs_confiner;
extern const struct confiner landlock_confiner;
extern const struct confiner seccomp_confiner;
extern const struct confiner open_files_confiner;

/* For sandboxes that are made ahead: the factory does once what all of them can share. */
extern const struct confiner factory_namespaces_confiner;
extern const struct confiner factory_mounts_confiner;
extern const struct confiner shell_namespaces_confiner;
extern const struct confiner shell_mounts_confiner;
extern const struct confiner shell_cgroup_confiner;
extern const struct confiner shell_rlimits_confiner;

/* Tries it, at the cost of a process. */
bool namespaces_work(void);

#endif
