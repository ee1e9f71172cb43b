/* A plan: everything that a run will be given, decided before anything is done.
 *
 * The planner fills it without a system call, so a plan can be printed, compared and tested without
 * privileges.  What the inside needs of it is encoded into a sealed memory file, from which
 * sandbox-run-init decodes it; the decoded plan points into that file.
 *
 *   (1) Paths of operations are relative to the new root and never contain "..".
 *   (2) Strings are borrowed from the request, the language, static tables or the plan's arena. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/limits.h"
#include "model/result.h"
#include "plan/features.h"
#include "plan/policy.h"

enum op_kind {
    OP_DIR,     /* make a directory with its parents                         */
    OP_FILE,    /* write a file that did not exist                           */
    OP_SYMLINK, /* `from` is the text of the link                            */
    OP_BIND,    /* the host's tree `from`, read-only, with what is below it   */
    OP_COPY,    /* a copy of the host's small file `from`, read-only         */
    OP_DEVICE,  /* the host's device node `from`, checked for its numbers    */
    OP_PROC,    /* a fresh procfs, read-only                                 */
    OP_EMPTY,   /* an empty read-only file or directory, to cover others with */
    OP_MASK,    /* cover `to` with the empty one `from`                      */
    OP_DEVPTS,  /* a private devpts                                          */
    OP_SCRATCH, /* a directory that the program may write to                 */
    OP_PROGRAM, /* a file of the program, written once its limits hold       */
    OP_COW,     /* the host's tree `from`, to write to; changes stay above it */
    N_OPS
};

#define OP_OPTIONAL 1u /* nothing is lost when the source or target is not there */
#define OP_PID_ONLY 2u /* procfs: only the processes of the sandbox              */
#define OP_DIRECTORY 4u
/* The supervisor, being root, clones the tree and hands it over: inside, as the user of the run, a
 * path through a private directory of root's could not be walked. */
#define OP_PASSED 8u
#define OP_WRITABLE 16u /* bind: not read-only; what is written reaches the host */
#define OP_OWN 32u      /* bind: a tree of ours, made for this run: its owners may be changed */
#define OP_APART 64u    /* scratch: a file system of its own, not part of the program's disk */
#define OP_VIEW 128u    /* bind: a directory is shown with inodes of its own, see confine/view.h */
#define OP_VIEW_ONLY 256u /* the same, and a kernel that refuses ends the set-up */

struct plan_op {
    enum op_kind kind;
    uint32_t flags;
    const char *from;
    const char *to;
    uint32_t mode;
    uint64_t device; /* major << 32 | minor */
    /* OP_COW: a directory of ours on the host that holds `upper` and `work`; NULL: the scratch space does. */
    const char *upper;
    const void *data;
    size_t len;
};

struct plan_rlimit {
    uint32_t resource;
    uint64_t soft, hard;
};

enum access_kind { ACCESS_READ, ACCESS_DEVICES, ACCESS_WRITE };

struct plan_rule {
    const char *path; /* absolute, inside */
    enum access_kind access;
    bool optional; /* nothing is lost when it is not there */
};

/* What is handed out after the run. */
enum collect_what {
    COLLECTS_TREE,    /* `path` (relative to the root), when the program succeeded */
    COLLECTS_CHANGES, /* what lies above the `cow`-th OP_COW, always                */
    COLLECTS_OUTPUT,  /* files that match the pattern `path` (absolute), always     */
    COLLECTS_WORK,    /* `path` (relative to the root), always, pipes by name       */
    N_COLLECTS
};

struct plan_collect {
    enum collect_what what;
    const char *path;
    uint32_t cow;
};

/* Of a template (plan/blueprint.h): what waits in a sandbox that is made ahead. */
enum park {
    STANDBY_NONE,
    STANDBY_SHELL,  /* init, confined; the program is executed when it is known            */
    STANDBY_DRIVER, /* a runtime that was started ahead by argv, and waits for its program */
    STANDBY_ZYGOTE, /* the same, forked from one that argv started once                    */
    N_STANDBY_KINDS
};

#define PLAN_APART_BYTES (32u << 20) /* of each OP_APART */
#define PLAN_MAX_COW 17
#define PLAN_MAX_COLLECTS 64
#define PLAN_MAX_RLIMITS 12
#define PLAN_MAX_RULES 64
#define PLAN_MAX_FILTERS 5
#define PLAN_MAX_FORWARDS 64
#define PLAN_MAX_PORTS 128

struct plan {
    /* For the supervisor. */
    enum cgroup_kind cgroup_kind;
    uint32_t cgroup_controllers; /* bit per controller that limits or measures this run */
    struct limits limits;
    struct isolation isolation;
    struct network egress;       /* for sandbox-run-egress; the rules are borrowed */
    const struct policy *policy; /* whose filter is the first one                   */

    /* For both sides. */
    uint64_t namespaces; /* CLONE_NEW* */
    enum park park;      /* of a template; STANDBY_NONE in the plan of a run */

    /* For the inside. */
    uint32_t inside_uid, inside_gid;
    const char *hostname;
    /* Without a private root: the directory on the host that holds what would be /work and /tmp,
     * made for this run and removed after it.  NULL otherwise. */
    const char *place;
    const char *workdir;
    struct plan_collect collects[PLAN_MAX_COLLECTS];
    size_t n_collects;
    uint64_t scratch_bytes,
        scratch_inodes; /* of all directories that can be written to, together */
    struct plan_op *ops;
    size_t n_ops;
    struct plan_rlimit rlimits[PLAN_MAX_RLIMITS];
    size_t n_rlimits;
    struct plan_rule rules[PLAN_MAX_RULES];
    size_t n_rules;
    int landlock_abi;                               /* 0: not used */
    struct policy_filter filters[PLAN_MAX_FILTERS]; /* each can only refuse more */
    size_t n_filters;
    const char **argv; /* NULL-terminated */
    const char **env;
    enum network_mode network;
    /* With NETWORK_ALLOW and NETWORK_FULL: ports of the host's loopback that are there inside too, and those that
     * listeners are needed for where netfilter cannot be had. */
    uint16_t forward_ports[PLAN_MAX_FORWARDS];
    size_t n_forward_ports;
    uint16_t ports[PLAN_MAX_PORTS];
    size_t n_ports;
    bool report;    /* refused system calls and connections are told to the supervisor */
    bool supervise; /* what no cgroup limits, init itself watches */
    uint64_t memory_bytes, cpu_ms, max_processes;
    /* Only a build with test hooks obeys these: a step to leave out, so that an attack can be shown
     * to succeed without it, and a step to fail in, so that nothing is shown to be left behind. */
    const char *test_without;
    const char *test_fail;

    struct plan_chunk *arena; /* strings and lists that the plan owns */
};

struct plan *plan_new(void); /* NULL without memory */
void plan_free(struct plan *plan);

/* Memory that lives as long as the plan; NULL without memory. */
void *plan_alloc(struct plan *plan, size_t size);
char *plan_printf(struct plan *plan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int plan_add_op(struct plan *plan, struct plan_op op, sbr_error *err);
/* What `from` has allocated becomes the plan's. */
void plan_adopt(struct plan *plan, struct plan *from);

/* The inside's half, to and from bytes. */
int plan_encode(const struct plan *plan, struct buf *out, sbr_error *err) must_check;
int plan_decode(const void *data, size_t len, struct plan **ret, sbr_error *err) must_check;

/* True when `name` is an element of the comma-separated `list`, which may be NULL. */
bool plan_list_has(const char *list, const char *name);

/* True in a build with test hooks when a test wants the plan without this defence. */
bool plan_leaves_out(const struct plan *plan, const char *defence);

const char *plan_op_name(enum op_kind kind);

/* Whether the kernel may refuse to mount a tree as the plan has it, so that the caller tries another way. */
bool plan_awaits_mounts(const struct plan *plan);

/* Whether a tree of the host's stands there that the program may write to; `to` as in an operation. */
bool plan_has_tree(const struct plan *plan, const char *to);

/* Instructions of all filters together. */
size_t plan_filter_len(const struct plan *plan);

/* The steps in order, for people and for golden tests; the caller frees it; NULL without memory. */
char *plan_to_json(const struct plan *plan);

#endif
