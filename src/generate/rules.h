/* The file and the group that a refusal comes from, for explanations. */
#ifndef GENERATE_RULES_H
#define GENERATE_RULES_H
#include <stdio.h>

#include "generate/calls.h"
#include "generate/policy_file.h"

struct rules {
    struct rules_entry {
        const char *call; /* NULL: allowed, or in no list */
        const char *about;
        const char *policy;
    } calls[CALLS_MAX];
    size_t len;
};

/* Finds the calls that are not simply allowed on this architecture; `base` may be NULL. */
void rules_find(struct rules *ret, const struct arch *arch, const struct policy_file *base,
                const struct policy_file *file);
/* Writes an array of struct policy_rule. */
void rules_write(FILE *out, const struct rules *rules, const char *policy);

#endif
