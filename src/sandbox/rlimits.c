/* Resource limits of each process, below the limits of the whole tree. */
#include <stdio.h>
#include <sys/resource.h>

#include "sandbox/confiner.h"

static int rlimits_apply(struct inside *in, sbr_error *err)
{
    for (size_t i = 0; i < in->plan->n_rlimits; i++) {
        const struct plan_rlimit *want = &in->plan->rlimits[i];
        struct rlimit limit, now;

        if (getrlimit((int)want->resource, &now) < 0)
            return err_set_errno(err, "rlimits", "cannot read limit %u", want->resource);
        /* What we were started with may be lower already, and cannot be raised again. */
        limit.rlim_max = want->hard < now.rlim_max ? want->hard : now.rlim_max;
        limit.rlim_cur = want->soft < limit.rlim_max ? want->soft : limit.rlim_max;
        if (setrlimit((int)want->resource, &limit) < 0)
            return err_set_errno(err, "rlimits", "cannot set limit %u", want->resource);
    }
    return 0;
}

const struct confiner rlimits_confiner = { "rlimits", NULL, rlimits_apply };
