/* What this machine offers: plain data that sandbox/probe.c fills and the planner reads. */
#ifndef PLAN_FEATURES_H
#define PLAN_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/limits.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

const char *plan_cgroup_kind_name(enum cgroup_kind kind); /* "none", "v1", "v2" */

/* cpuacct is part of cpu on v2 and often mounted with it on v1. */
enum cgroup_controller { CG_MEMORY, CG_PIDS, CG_CPUACCT, CG_CPU, N_CG };

const char *features_controller_name(enum cgroup_controller controller);

/* What cgroup_prepare must do once before the first run; nothing on v1. */
enum cgroup_need {
    CGROUP_READY,  /* nothing: a leaf can be made */
    CGROUP_ENABLE, /* enable the controllers in `parent` */
    CGROUP_LEAVE,  /* move this process, alone in `parent`, to a cgroup below it; then enable */
    CGROUP_SCOPE   /* ask systemd for a cgroup, which becomes `parent`; then enable */
};

const char *plan_cgroup_need_name(enum cgroup_need need); /* "nothing", "scope", ... */

#define CGROUP_PATH_MAX 512

struct cgroup_features {
    enum cgroup_kind kind;
    uint32_t usable; /* one bit for each controller in which we may make cgroups, once prepared */
    enum cgroup_need need;
    /* The parent of our leaf: one for each controller on v1, only the first on v2. */
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

/* What refuses user namespaces; each has a remedy of its own. */
enum userns_barrier {
    BARRIER_NONE,
    BARRIER_CLONE_SYSCTL, /* kernel.unprivileged_userns_clone (Debian) */
    BARRIER_MAX_SYSCTL,   /* user.max_user_namespaces */
    BARRIER_APPARMOR,     /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
    BARRIER_REFUSED,      /* the call fails: filter or profile of a container */
    BARRIER_CHROOT,       /* the call fails without a filter or profile */
    BARRIER_COVERED_PROC, /* a container hides parts of /proc: no new procfs may be mounted */
    N_BARRIERS
};

/* "none", "unprivileged_userns_clone", ... */
const char *plan_barrier_name(enum userns_barrier barrier);

/* Where changes are stored apart from the real files, best first. */
enum cow_kind {
    COW_OVERLAY, /* overlayfs with the scratch space as upper directory */
    /* overlayfs with a directory of ours: tmpfs lacks user xattrs (before Linux 6.6) */
    COW_DISK,
    COW_COPY, /* no overlayfs: a copy, by reflink where possible */
    N_COW_KINDS
};

const char *plan_cow_kind_name(enum cow_kind kind); /* "overlay", "disk", "copy" */

struct features {
    uint32_t uid, gid;
    bool privileged;   /* root that may take another user's identity */
    bool is_host_root; /* root that may not: the program would be root, too */
    bool mounts;       /* may clone trees of the host's mounts */
    bool user_namespaces;
    enum userns_barrier barrier; /* what refuses them, when there are none */
    bool proc;                   /* procfs is mounted on /proc */
    bool seccomp;
    /* The best kind not refused so far; SANDBOX_RUN_COW=overlay|disk|copy sets the first. */
    enum cow_kind cow;
    int landlock_abi; /* 0: none */
    struct cgroup_features cgroup;
    struct root_entry root[N_ROOT_NAMES];
    struct machine machine;
};

struct jsonw;
void features_put_json(struct jsonw *j, const char *key, const struct features *features);

#endif
