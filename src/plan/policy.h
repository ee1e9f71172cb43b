/* A policy is data: policies/NAME.yaml.  System call rules become BPF when the project is built. */
#ifndef PLAN_POLICY_H
#define PLAN_POLICY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/network.h"

enum policy_proc {
    POLICY_PROC_MASKED, /* whole procfs, read-only, with the telling files masked */
    POLICY_PROC_PID     /* only the processes of the sandbox                      */
};

/* Same layout as the kernel's struct sock_filter. */
struct policy_insn {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};

/* A question to the supervisor, which counts (SECCOMP_RET_USER_NOTIF).  The lower half is the error where it counts too
 * many, or where nobody counts; the kernel does not look at it. */
#define POLICY_COUNT (0x7fc00000u | ENOMEM)

struct policy_filter {
    const struct policy_insn *insns;
    size_t len;
};

/* Where it is written that a call is refused, or asked of the supervisor, for some of its arguments at least. */
struct policy_rule {
    uint16_t number;
    const char *call;
    const char *about; /* the group, as its file has it                     */
    const char *file;  /* of policies/: the policy's own or the one it extends */
};

struct policy {
    const char *name;
    const char *about;
    enum policy_proc proc;
    bool internal;                   /* ours alone: no request can name it */
    struct policy_filter filter;     /* for the architecture that this build is for */
    const struct policy_rule *rules; /* by number */
    size_t n_rules;
    /* What can be reached when a request says nothing of it.  Each text is one that host_rule_parse() takes. */
    enum network_mode network;
    const char *const *allow_hosts;
    size_t n_allow_hosts;
    bool allow_dns;
};

/* NULL-terminated, "default" first; generated from policies/. */
extern const struct policy *const policy_table[];

const struct policy *policy_find(const char *name); /* NULL: "default" */
/* Those that a request can name, in the order of the table; NULL past the last. */
const struct policy *policy_at(size_t index);
/* Whose filter it is; NULL: of none in the table. */
const struct policy *policy_of(const struct policy_filter *filter);
const struct policy_rule *policy_rule_find(const struct policy *policy, int number); /* or NULL */

#endif
