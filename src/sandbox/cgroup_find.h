/* cgroup v2: the search for a parent cgroup, separate from the machine that it searches. */
#ifndef SANDBOX_CGROUP_FIND_H
#define SANDBOX_CGROUP_FIND_H

#include <stdbool.h>

#include "plan/features.h"

struct cgroup_view {
    const char *mount;
    char own[CGROUP_PATH_MAX]; /* our cgroup, relative to the mount: "/user.slice/..." */
    bool managed;              /* by systemd */
    bool delegated;            /* our unit is delegated, although nothing marks it */
    bool may_prepare;          /* also consider parents that cgroup_prepare must change first */
};

/* Finds the best parent for leaves; `kind` is CGROUP_NONE when there is none. */
void cgroup_v2_find(const struct cgroup_view *view, struct cgroup_features *features);

void cgroup_v2_probe(struct cgroup_features *features);

#endif
