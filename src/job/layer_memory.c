/* A full disk under the cache: layers of this run are then made in memory. */
#include <errno.h>

#include "base/log.h"
#include "job/job_trees.h"

static bool is_full(const sbr_error *err)
{
    return err->sys_errno == ENOSPC || err->sys_errno == EDQUOT;
}

/* Only for a process with one job: it removes the cache in memory at its end. */
bool layer_memory_begin(sbr_job *job, const sbr_error *failure)
{
    if (failure && !is_full(failure))
        return false;
    if (!job->rt->once || store_memory_is_used() || store_memory_begin() < 0)
        return false;
    job->warm.off = true; /* the engine knows layers of the real cache only */
    return true;
}

bool layer_memory_restart(sbr_job *job, sbr_error *err)
{
    char path[STORE_PATH_SIZE];
    sbr_error ignored;

    if (layer_memory_begin(job, err)) {
        log_info("cache", "the disk is full, the stage starts again in memory: %s", err->message);
        return true;
    }
    if (is_full(err) && store_path(path, sizeof(path), &ignored) == 0)
        err_set(err, SBR_E_SYSTEM, "cache",
                "the disk became full while something was kept in '%.200s'; make room there, or "
                "set SANDBOX_RUN_CACHE to a directory on another disk",
                path);
    return false;
}
