/* What this machine offers: plain data, filled by sandbox/probe.c, read by the planner. */
#ifndef PLAN_FEATURES_H
#define PLAN_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "job/limits.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

const char *cgroup_kind_name(enum cgroup_kind kind); /* "none", "v1", "v2" */

/* cpuacct is a part of cpu on v2 and often mounted with it on v1. */
enum cgroup_controller { CG_MEMORY, CG_PIDS, CG_CPUACCT, CG_CPU, N_CG };

#define CGROUP_PATH_MAX 512

struct cgroup_features {
    enum cgroup_kind kind;
    uint32_t usable; /* bit per controller in which we may make groups */
    /* The directory that takes our leaf: one per controller on v1, the first alone on v2. */
    char parent[N_CG][CGROUP_PATH_MAX];
};

/* Top-level names that are links into /usr on most systems and directories on others. */
enum { ROOT_BIN, ROOT_LIB, ROOT_LIB32, ROOT_LIB64, ROOT_SBIN, N_ROOT_NAMES };
enum root_form { ROOT_ABSENT, ROOT_LINK, ROOT_DIRECTORY };

extern const char *const root_names[N_ROOT_NAMES];

struct root_entry {
    enum root_form form;
    char target[32]; /* of the link, for example "usr/lib64" */
};

struct features {
    uint32_t uid, gid;
    bool user_namespaces;
    bool seccomp;
    int landlock_abi; /* 0: none */
    struct cgroup_features cgroup;
    struct root_entry root[N_ROOT_NAMES];
    struct machine machine;
};

#endif
