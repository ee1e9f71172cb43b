#include "plan/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MAX_ADDED 8

static const struct policy *added[MAX_ADDED];
static size_t n_added;

int policy_add(const struct policy *policy)
{
    if (n_added == MAX_ADDED)
        return -1;
    added[n_added++] = policy;
    return 0;
}

const struct policy *policy_find(const char *name)
{
    if (!name)
        name = "default";
    for (size_t i = 0; i < n_added; i++)
        if (strcmp(added[i]->name, name) == 0)
            return added[i];
    for (const struct policy *const *p = policy_table; *p; p++) {
        if (strcmp((*p)->name, name) == 0)
            return *p;
    }
    return NULL;
}

const struct policy *policy_at(size_t index)
{
    for (const struct policy *const *p = policy_table; *p; p++) {
        if (!(*p)->internal && index-- == 0)
            return *p;
    }
    return NULL;
}

int policy_resolve(const char *name, const struct policy **ret, sbr_error *err)
{
    const struct policy *found = policy_find(name);
    const char *all[16] = { NULL }, *near;
    char names[200] = "";
    size_t used = 0, n = 0;

    if (found && !found->internal) {
        *ret = found;
        return 0;
    }
    for (; policy_at(n) && n < ARRAY_LEN(all); n++)
        all[n] = policy_at(n)->name;
    near = text_nearest(name, all, n);
    for (size_t i = 0; policy_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 policy_at(i)->name);
    return err_set(
        err, SBR_E_NOT_FOUND, "policy",
        "there is no policy '%.60s'; %s%s%schoose one of: %s, or name a file: ./%.60s.yaml", name,
        near ? "did you mean '" : "", near ? near : "", near ? "'? or " : "", names, name);
}

const struct policy *policy_of(const struct policy_filter *filter)
{
    for (size_t i = 0; i < n_added; i++)
        if (added[i]->filter.insns == filter->insns)
            return added[i];
    for (const struct policy *const *p = policy_table; *p; p++) {
        if ((*p)->filter.insns == filter->insns)
            return *p;
    }
    return NULL;
}

static int compare_number(const void *key, const void *element)
{
    return *(const int *)key - ((const struct policy_rule *)element)->number;
}

const struct policy_rule *policy_rule_find(const struct policy *policy, int number)
{
    if (policy->n_rules == 0)
        return NULL;
    return bsearch(&number, policy->rules, policy->n_rules, sizeof(*policy->rules), compare_number);
}

bool policy_is_file(const char *word)
{
    size_t len = strlen(word);

    return strchr(word, '/') || (len > 5 && !strcmp(word + len - 5, ".yaml"));
}
