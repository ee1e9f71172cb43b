/* A policy of the user's own, read at run time and checked as those of policies/ are when we build.
 * Not for two threads at once. */
#ifndef PLAN_POLICY_OWN_H
#define PLAN_POLICY_OWN_H

#include "plan/policy.h"

/* The shipped policies as they are written: what a file can extend. */
struct policy_source {
    const char *name; /* NULL: the end */
    const char *text;
};
extern const struct policy_source policy_sources[];

/* Reads the file and adds its policy for the life of the process; once for each path. */
int policy_own_add(const char *path, const struct policy **ret, sbr_error *err) must_check;
/* The file that has the policy of this name; NULL: none was added. */
const char *policy_own_path(const char *name);

#endif
