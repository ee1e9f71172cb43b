#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int cgroup_slot_open(struct slot *slot, const struct plan *plan,
                     const struct cgroup_features *features, sbr_error *err)
{
    if (cgroup_open(&slot->cgroup, plan, features, err) < 0)
        return err->code;
    if (cgroup_make(&slot->cgroup, err) < 0) {
        cgroup_destroy(&slot->cgroup);
        return err->code;
    }
    return 0;
}

int cgroup_slot_reset(struct slot *slot, sbr_error *err)
{
    scope_close_fd(&slot->cgroup.oom_fd);
    slot->cgroup.oom_fd = -1;
    if (!cgroup_is_whole(&slot->cgroup))
        return err_set(err, SBR_E_SYSTEM, "cgroup", "another process removed it");
    return slot->cgroup.controllers ? cgroup_renew(&slot->cgroup, err) : 0;
}

void cgroup_slot_close(struct slot *slot)
{
    (void)cgroup_kill(&slot->cgroup);
    cgroup_destroy(&slot->cgroup);
}
