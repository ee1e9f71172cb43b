/* policies/NAME.yaml as written: names of system calls, not yet numbers. */
#ifndef PLAN_POLICY_FILE_H
#define PLAN_POLICY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/document.h"
#include "base/err.h"
#include "plan/calls.h"
#include "plan/policy.h"

/* The answer to a system call: an errno, or one of these.  Zero is neither, so that a missing field
 * can never mean "allowed". */
enum answer {
    ANSWER_NONE = 0,
    ANSWER_ALLOW = -1,
    /* The supervisor answers; without one, see confine/seccomp.c. */
    ANSWER_NOTIFY = -2,
    ANSWER_COUNT = -3, /* the supervisor counts; refused without one */
    ANSWER_DONE = -4,  /* success without any effect */
};

/* True when the argument, reduced to `bits` and to the mask, is one of the values. */
struct condition {
    unsigned arg;  /* 0 to 5 */
    unsigned bits; /* 32 where the kernel itself reads an int or an unsigned int, else 64 */
    int64_t *mask; /* combined by OR; none: every bit counts */
    unsigned mask_count;
    int64_t *is;
    unsigned is_count;
};

/* The answer when every condition is true. */
struct rule {
    struct condition *when;
    unsigned when_count;
    int then; /* enum answer, or an errno */
};

/* One system call whose arguments decide: the first rule that applies answers. */
struct call_rules {
    char *call;
    char *about; /* as the text of a group; NULL: the name of the call suffices */
    struct rule *rules;
    unsigned rules_count;
    int otherwise; /* enum answer, or an errno */
};

/* System calls with one answer, independent of their arguments. */
struct call_group {
    char *group; /* what they have in common, for the reader */
    int answer;  /* the errno of a refused group */
    DOCUMENT_LIST(calls);
};

struct policy_calls {
    /* The errno of every number that is not named; ANSWER_ALLOW: another filter answers;
     * ANSWER_NONE: the base answers. */
    int unknown;
    struct call_group *allow;
    unsigned allow_count;
    struct call_group *notice;
    unsigned notice_count;
    struct call_group *refuse;
    unsigned refuse_count;
    struct call_rules *arguments;
    unsigned arguments_count;
};

/* The network of a run whose request does not set one. */
struct policy_network {
    enum network_mode mode;
    DOCUMENT_LIST(allow_hosts);
    bool allow_dns;
};

struct policy_file {
    char *name;
    char *about;
    char *extends; /* the policy that answers for all other calls; or NULL */
    enum policy_proc proc;
    bool internal;                 /* no request can name it */
    struct policy_network network; /* of this file alone: `extends` applies to calls only */
    struct policy_calls syscalls;
};

/* The grammar: fields, words, constants. */
extern const cyaml_schema_value_t policy_schema;

/* Reads and checks one file: every name exists on some architecture and occurs once, and every
 * condition can be true.  The caller frees it. */
int policy_file_load(const char *path, struct policy_file **ret, sbr_error *err) must_check;
void policy_file_free(struct policy_file *file);

/* The significant bits of a condition's argument. */
uint64_t policy_condition_mask(const struct condition *c);

/* The file and the group that a refusal comes from, for explanations. */
struct rules {
    struct rules_entry {
        const char *call; /* NULL: allowed, or in no list */
        const char *about;
        const char *policy;
    } calls[CALLS_MAX];
    size_t len;
};

/* Finds the calls that are not simply allowed on this architecture; `base` may be NULL. */
void policy_rules_find(struct rules *ret, const struct arch *arch, const struct policy_file *base,
                       const struct policy_file *file);

#endif
