#include "sandbox/cgroup_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"

int nest_open(struct nest *nest, const struct plan *plan, const struct cgroup_features *features,
              sbr_error *err)
{
    if (cgroup_open(&nest->cgroup, plan, features, err) < 0)
        return err->code;
    if (cgroup_make(&nest->cgroup, err) < 0) {
        cgroup_destroy(&nest->cgroup);
        return err->code;
    }
    return 0;
}

int nest_reset(struct nest *nest, sbr_error *err)
{
    scope_close_fd(&nest->cgroup.oom_fd);
    nest->cgroup.oom_fd = -1;
    if (!cgroup_is_whole(&nest->cgroup))
        return err_set(err, SBR_E_SYSTEM, "cgroup", "somebody else removed it");
    return nest->cgroup.controllers ? cgroup_renew(&nest->cgroup, err) : 0;
}

void nest_close(struct nest *nest)
{
    (void)cgroup_kill(&nest->cgroup);
    cgroup_destroy(&nest->cgroup);
}
