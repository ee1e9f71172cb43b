/* cgroup v2: the search for a place, apart from the machine that it searches. */
#ifndef SANDBOX_CGROUP_FIND_H
#define SANDBOX_CGROUP_FIND_H

#include <stdbool.h>

#include "plan/features.h"

struct cgroup_view {
    const char *mount;
    char own[CGROUP_PATH_MAX]; /* our group, from the mount: "/user.slice/..." */
    bool managed;              /* by systemd */
    bool delegated;            /* the unit that we are in, although nothing on it says so */
    bool may_prepare;          /* also what cgroup_prepare would have to do something for */
};

/* The best place for leaves; kind is CGROUP_NONE when there is none. */
void cgroup_v2_find(const struct cgroup_view *view, struct cgroup_features *features);

void cgroup_v2_probe(struct cgroup_features *features);

#endif
