#include "plan/policy.h"

#include <string.h>

const struct policy *policy_find(const char *name)
{
    if (!name)
        name = "default";
    for (const struct policy *const *p = policy_table; *p; p++) {
        if (strcmp((*p)->name, name) == 0)
            return *p;
    }
    return NULL;
}
