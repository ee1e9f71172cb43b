#include "job/job_steps.h"

#include <stdlib.h>

static const char *test_without(void)
{
#ifdef SBR_TEST_HOOKS
    return getenv("SANDBOX_RUN_TEST_WITHOUT");
#else
    return NULL;
#endif
}

const struct secrets *stage_secrets_of(const sbr_job *job, enum stage stage)
{
    if (job->now.helper.started)
        return &job->now.secrets;
    return stage == STAGE_RUN ? &job->req->secrets : &job->now.config.secrets;
}

int stage_secrets_start(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    const struct secrets *given = stage_secrets_of(job, now->stage);
    int r;

    if (!secrets_are_given(given))
        return 0;
    if (secrets_check(given, err) < 0 || secrets_copy(&now->secrets, given, err) < 0 ||
        secrets_draw(&now->secrets, err) < 0)
        return err->code;
    r = secrets_process_start(&now->helper, &now->secrets, &job->rt->features, test_without(), err);
    secrets_wipe_values(&now->secrets);
    secrets_wipe_values(&now->config.secrets);
    return r;
}
