/* The file and the group that a refusal comes from, for explanations. */
#ifndef PLAN_POLICY_RULES_H
#define PLAN_POLICY_RULES_H
#include <stddef.h>

#include "plan/calls.h"
#include "plan/policy_file.h"

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
