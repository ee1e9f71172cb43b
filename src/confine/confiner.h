/* One mechanism, one file, one interface.
 *
 * A mechanism has up to three sides.  `probe` runs outside and changes nothing.  What has to be
 * opened or created outside is done by sandbox.c before the program exists.  `apply` runs inside,
 * in sandbox-run-init, between the new namespaces and the program: it may only give up rights. */
#ifndef CONFINE_CONFINER_H
#define CONFINE_CONFINER_H

#include <stddef.h>

#include "base/fd.h"
#include "plan/features.h"
#include "plan/plan.h"
#include "wire/control.h"

/* Whom init is. */
enum role {
    ROLE_RUN,     /* of one run, from its beginning                                  */
    ROLE_FACTORY, /* it makes sandboxes of one template, and never runs anything      */
    ROLE_SHELL,   /* one of those: all but what is left to the moment of the program */
    N_ROLES
};

/* What init holds while it confines itself. */
struct inside {
    const struct plan *plan;
    int control_fd;           /* to the supervisor                                   */
    int root_fd;              /* the sized tmpfs: how full it is goes into the result */
    int io_fd;                /* /proc/self/io, opened while init may still do so     */
    int proc_fd;              /* /proc, for the supervision without cgroups           */
    int trees[FD_MAX_PASSED]; /* that the supervisor cloned, in the order of the operations */
    size_t n_trees, next_tree;
    int uppers[PLAN_MAX_COW]; /* what lies above each OP_COW, to walk when all is over */
    size_t n_uppers;
    int copies[PLAN_MAX_COW]; /* trees that are copies made for this run, to measure */
    size_t n_copies;
    const char
        *apart;   /* a shell's place for an artifact, NULL: none; a mount that is only to be read */
    int apart_fd; /* the same, to be written to until the program starts                         */
    struct init_report *report;
    enum role role;
    /* A shell's steps that wait for the program: see confine.c. */
    bool late_filter, late_landlock;
    bool has_view;        /* the directory that views need while they are made is there */
    bool shares_inodes;   /* the kernel refused a view, so the host's own inodes are shown */
    bool keeps_oom_score; /* it could not be raised, see init/init_main.c */
};

struct confiner {
    const char *name; /* stage of errors, name in the manual */
    void (*probe)(struct features *features);
    int (*apply)(struct inside *in, sbr_error *err);
};

extern const struct confiner network_start_confiner;
extern const struct confiner namespaces_confiner;
extern const struct confiner mounts_confiner;
extern const struct confiner network_confiner;
extern const struct confiner cgroup_confiner;
extern const struct confiner program_confiner;
extern const struct confiner rlimits_confiner;
extern const struct confiner identity_confiner;
extern const struct confiner no_new_privs_confiner;
extern const struct confiner landlock_confiner;
extern const struct confiner seccomp_confiner;
extern const struct confiner open_files_confiner;

/* The same for sandboxes that are made ahead: the nursery does once what all of them can share. */
extern const struct confiner factory_namespaces_confiner;
extern const struct confiner factory_mounts_confiner;
extern const struct confiner shell_namespaces_confiner;
extern const struct confiner shell_mounts_confiner;
extern const struct confiner shell_cgroup_confiner;
extern const struct confiner shell_rlimits_confiner;

/* Tries it, at the cost of a process. */
bool namespaces_work(void);

#endif
