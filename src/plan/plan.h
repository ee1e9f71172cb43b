/* A plan: everything that a run gets, decided before anything is done.
 *
 * The planner makes it without a system call, so that a plan can be printed, compared and tested
 * without privileges.  The inside's part is encoded into a sealed memory file, from which
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
#include "base/inode.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/result.h"
#include "plan/features.h"
#include "plan/policy.h"

/* Where commands are, inside as on the host. */
#define PLAN_USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum op_kind {
    OP_DIR,     /* make a directory with its parents */
    OP_FILE,    /* write a new file */
    OP_SYMLINK, /* `from` is the target of the link */
    OP_BIND,    /* the host's tree `from`, recursively, read-only */
    OP_COPY,    /* a copy of the host's small file `from`, read-only */
    OP_DEVICE,  /* the host's device node `from`, if its numbers match */
    OP_PROC,    /* a new procfs, read-only */
    OP_EMPTY,   /* an empty read-only file or directory, to cover others */
    OP_MASK,    /* cover `to` with the empty `from` */
    OP_DEVPTS,  /* a private devpts */
    OP_SCRATCH, /* a directory that the program may write to */
    OP_PROGRAM, /* a file of the program, written once its limits hold */
    OP_COW,     /* the host's tree `from`, writable; changes stay in the sandbox */
    N_OPS
};

#define OP_OPTIONAL 1u /* a missing source or target is not an error */
#define OP_PID_ONLY 2u /* procfs: only the processes of the sandbox */
#define OP_DIRECTORY 4u
/* The supervisor, as root, clones the tree and passes it to init: the run's user could not walk a
 * path through a private directory of root's. */
#define OP_PASSED 8u
#define OP_WRITABLE 16u   /* bind: writable, and writes reach the host */
#define OP_OWN 32u        /* bind: a tree made for this run, whose owners may be changed */
#define OP_APART 64u      /* scratch: a file system of its own, not part of the program's disk */
#define OP_VIEW 128u      /* bind: show a directory with inodes of its own; see confine/mounts.h */
#define OP_VIEW_ONLY 256u /* the same; set-up fails when the kernel refuses */
/* mask: a file of the user's tree, found without following a link; without `from` it is a
 * directory that gets a mount of itself, so that it cannot be renamed. */
#define OP_LEFT_OUT 512u
#define OP_NOEXEC 1024u /* once all is there, nothing in this mount can be executed */
#define OP_OVER 2048u   /* `to` may lie in a tree of an image: no link is followed on the way */
#define OP_SEALED                                                                                  \
    4096u /* once all is there, this mount is read-only; mounts in it stay as they are */
#define OP_IMAGE 8192u /* a part of an image in the store: the same in every run, no mount in it */

struct plan_op {
    enum op_kind kind;
    uint32_t flags;
    const char *from;
    const char *to;
    uint32_t mode;
    uint64_t device;     /* major << 32 | minor; in a blueprint, the identity of `from` */
    struct inode_id was; /* OP_BIND, OP_COW: what `from` led to when it was looked at */
    /* OP_COW: a directory on the host with `upper` and `work`; NULL: in the scratch space. */
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
    bool optional;       /* a missing path is not an error */
    struct inode_id was; /* what `path` led to when it was looked at */
};

/* What is collected after the run. */
enum collect_what {
    COLLECTS_TREE,    /* `path` (relative to the root), if the program succeeded */
    COLLECTS_CHANGES, /* the changes of the `cow`-th OP_COW, always */
    COLLECTS_OUTPUT,  /* files that match the pattern `path` (absolute), always */
    COLLECTS_WORK,    /* `path` (relative to the root), always, pipes by name */
    COLLECTS_NAMES,   /* as COLLECTS_CHANGES, of files only name and size */
    N_COLLECTS
};

struct plan_collect {
    enum collect_what what;
    const char *path;
    uint32_t cow;
};

/* What waits in a standby sandbox (plan/blueprint.h). */
enum standby_kind {
    STANDBY_NONE,
    STANDBY_SHELL,  /* init, confined; it executes the program when it is known */
    STANDBY_DRIVER, /* a runtime, started ahead by argv, that waits for its program */
    STANDBY_ZYGOTE, /* the same, forked from one that argv started once */
    N_STANDBY_KINDS
};

/* A terminal of the program's own: confine/pty.c makes it. */
struct plan_tty {
    uint32_t rows, columns; /* rows 0: there is none */
    uint32_t streams;       /* one bit for each of the fds 0, 1 and 2 that is the terminal */
};

#define PLAN_KERNEL_FD 3
#define PLAN_APART_BYTES (32u << 20) /* size of each OP_APART */
#define PLAN_MAX_COW 41              /* 24 of an image, 16 volumes, /work */
#define PLAN_MAX_COLLECTS 64
#define PLAN_MAX_RLIMITS 12
#define PLAN_MAX_RULES 64
#define PLAN_MAX_FILTERS 5
#define PLAN_MAX_FORWARDS 64
#define PLAN_MAX_PORTS 128

struct plan {
    /* For the supervisor. */
    enum cgroup_kind cgroup_kind;
    uint32_t cgroup_controllers; /* one bit for each controller that limits or measures the run */
    struct limits limits;
    struct isolation isolation;
    struct network egress;      /* for sandbox-run-egress; the rules are borrowed */
    struct network_proxy proxy; /* by which egress reaches hosts; nothing of it is inside */
    struct network handed;      /* hosts whose connections egress gives to sandbox-run-secrets */
    bool has_secrets;
    const struct policy *policy; /* its filter is the first one */
    struct publish publish;      /* for sandbox-run-publish */

    /* For both supervisor and init. */
    uint64_t namespaces;       /* CLONE_NEW* */
    enum standby_kind standby; /* of a blueprint; STANDBY_NONE in the plan of a run */

    /* For init. */
    uint32_t inside_uid, inside_gid;
    const char *hostname;
    /* Without a private root: the directory on the host that replaces /work and /tmp, made for this
     * run and removed after it.  NULL otherwise. */
    const char *run_dir;
    const char *workdir;
    struct plan_collect collects[PLAN_MAX_COLLECTS];
    size_t n_collects;
    /* Of all writable directories together. */
    uint64_t scratch_bytes, scratch_inodes;
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
    bool kernel; /* of a session: stdin is empty, PLAN_KERNEL_FD a socket to the supervisor */
    struct plan_tty tty;
    enum network_mode network;
    /* With NETWORK_ALLOW and NETWORK_FULL: ports of the host's loopback that are available inside,
     * and ports that need listeners when netfilter is unavailable. */
    uint16_t forward_ports[PLAN_MAX_FORWARDS];
    size_t n_forward_ports;
    uint16_t ports[PLAN_MAX_PORTS];
    size_t n_ports;
    uint32_t n_published; /* ports that lead in: sandbox-run-publish gets sockets */
    bool report;          /* report refused system calls and connections to the supervisor */
    bool supervise;       /* init enforces the limits that no cgroup does */
    uint64_t memory_bytes, cpu_ms, max_processes;
    /* When init ends the run itself, because its supervisor was stopped or hangs. */
    uint64_t deadline_ms;
    /* Only a build with test hooks obeys these: a defence to omit, to show that an attack then
     * succeeds, and a step to fail in, to show that nothing is left behind. */
    const char *test_without;
    const char *test_fail;

    struct plan_chunk *arena; /* strings and lists that the plan owns */
    void *source; /* what it borrows from, if that ends with the plan; NULL: it does not */
    void (*free_source)(void *source);
};

struct plan *plan_new(void); /* NULL without memory */
void plan_free(struct plan *plan);

/* Lives as long as the plan; NULL without memory. */
void *plan_alloc(struct plan *plan, size_t size);
char *plan_printf(struct plan *plan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int plan_add_op(struct plan *plan, struct plan_op op, sbr_error *err);
/* Moves the memory of `from` to the plan. */
void plan_adopt(struct plan *plan, struct plan *from);

/* The part for init, to and from bytes. */
int plan_encode(const struct plan *plan, struct buf *out, sbr_error *err) must_check;
int plan_decode(const void *data, size_t len, struct plan **ret, sbr_error *err) must_check;

/* True when `name` is an element of the comma-separated `list`, which may be NULL. */
bool plan_list_has(const char *list, const char *name);

/* True in a build with test hooks when a test omits this defence. */
bool plan_leaves_out(const struct plan *plan, const char *defence);

const char *plan_op_name(enum op_kind kind);

/* True when the kernel may refuse a mount of the plan, so that the caller tries another kind. */
bool plan_awaits_mounts(const struct plan *plan);

/* True when the root is made of an image in the store: then each sandbox that is made ahead builds
 * its own. */
bool plan_is_of_image(const struct plan *plan);

/* True when `to` (as in an operation) is a tree of the host's that the program may write to. */
bool plan_has_tree(const struct plan *plan, const char *to);

/* The number of instructions of all filters. */
size_t plan_filter_len(const struct plan *plan);

/* The steps in order, for people and golden tests; the caller frees it; NULL without memory. */
char *plan_to_json(const struct plan *plan, bool pretty);

#endif
