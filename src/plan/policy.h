/* A policy is data: policies/NAME.yaml.  The build turns its system call rules into BPF. */
#ifndef PLAN_POLICY_H
#define PLAN_POLICY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/network.h"

enum policy_proc {
    POLICY_PROC_MASKED, /* all of procfs, read-only, with revealing files masked */
    POLICY_PROC_PID     /* only the processes of the sandbox */
};

/* Same layout as the kernel's struct sock_filter. */
struct policy_insn {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};

/* Asks the supervisor to count the call (SECCOMP_RET_USER_NOTIF).  The lower half, which the kernel
 * ignores, is the error when the count is too high or no supervisor counts. */
#define POLICY_COUNT (0x7fc00000u | ENOMEM)

struct policy_filter {
    const struct policy_insn *insns;
    size_t len;
};

/* The origin of a rule that refuses a call, or asks the supervisor, at least for some arguments. */
struct policy_rule {
    uint16_t number;
    const char *call;
    const char *about; /* the name of the group in its file */
    const char *file;  /* of policies/: the policy's own or the one that it extends */
};

struct policy {
    const char *name;
    const char *about;
    enum policy_proc proc;
    bool internal;                   /* no request can name it */
    bool is_own;                     /* read at run time; no engine has it */
    bool may_allow_more;             /* than the shipped policies do */
    struct policy_filter filter;     /* for the architecture of this build */
    const struct policy_rule *rules; /* sorted by number */
    size_t n_rules;
    /* The network when the request does not set one.  host_rule_parse() accepts each text. */
    enum network_mode network;
    const char *const *allow_hosts;
    size_t n_allow_hosts;
    bool allow_dns;
};

/* NULL-terminated, "default" first; generated from policies/. */
extern const struct policy *const policy_table[];

/* Adds one for the life of the process; 0, or -1 when there is no place for more. */
int policy_add(const struct policy *policy);

const struct policy *policy_find(const char *name); /* NULL: "default" */
/* The same for one that a request can name; the error has their names. */
int policy_resolve(const char *name, const struct policy **ret, sbr_error *err);
/* The policies that a request can name, in the order of the table; NULL at the end. */
const struct policy *policy_at(size_t index);
/* The policy with this filter; NULL when the table has none. */
const struct policy *policy_of(const struct policy_filter *filter);
const struct policy_rule *policy_rule_find(const struct policy *policy, int number); /* or NULL */

/* True for a word that is a file, not a name: it has a slash or ends in .yaml. */
bool policy_is_file(const char *word);

#endif
