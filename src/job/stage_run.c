/* What a stage holds, from its start to its end. */
#include "job/job_steps.h"

void stage_run_drop(sbr_job *job)
{
    struct stage_run *now = &job->now;

    if (now->lingers && job->warm.lingers)
        return;
    if (now->watching) {
        monitor_done(&now->monitor);
        sandbox_end(&now->box);
        sandbox_done(&now->box);
    }
    if (!job->warm.lingers || now->stage != STAGE_RUN)
        warm_release(job);
    if (now->collecting)
        collect_reader_done(&now->collect_reader);
    if (now->staged)
        store_discard(&now->staging);
    plan_free(now->plan);
    secrets_process_stop(&now->helper);
    secrets_done(&now->secrets);
    client_config_done(&now->config);
    client_config_words_done(&now->needs);
    scope_close_fd(&now->lock_fd);
    *now = (struct stage_run){ .lock_fd = -1 };
    now->box.init.pidfd = -1;
}
