/* RESOLVING --> STARTING --> RUNNING --> COLLECTING --> DONE
 *                ^  |  ^                    |
 *                |  |  '---- next stage ----'
 *                |  |-- busy --> WAITING_LAYER ---|
 *                |  '-- asked --> WAITING_ENGINE -|
 *                '--------------------------------'
 *
 * A cell holds the step that an event leads to and the state after it.  The step returns the next
 * event, which is looked up in the new state, or EV_NOTHING.  An empty cell ignores the event. */
#include "base/clock.h"
#include "job/job_steps.h"

#define RETRY_US 50000 /* how often the job looks again for what another process has */

static void retry_due(void *context, uint32_t events)
{
    (void)events;
    job_table_handle(context, EV_GO);
}

static enum job_event wait_for_retry(sbr_job *job, enum job_event event, sbr_error *err)
{
    (void)event;
    (void)err;
    loop_set_timer(&job->loop, TIMER_RETRY, clock_now_us() + RETRY_US, retry_due, job);
    return EV_NOTHING;
}

static enum job_event wait_for_answer(sbr_job *job, enum job_event event, sbr_error *err)
{
    (void)job;
    (void)event;
    (void)err;
    return EV_NOTHING;
}

static enum job_event cancel_monitor(sbr_job *job, enum job_event event, sbr_error *err)
{
    (void)event;
    (void)err;
    monitor_cancel(&job->now.monitor);
    return EV_NOTHING;
}

static const struct {
    job_step *step;
    enum job_state next;
} transitions[N_JOB_STATES][N_JOB_EVENTS] = {
    /* clang-format off */
    [JOB_RESOLVING] = {
        [EV_GO]           = { job_decide_stages,    JOB_RESOLVING      },
        [EV_BUSY]         = { wait_for_retry,       JOB_RESOLVING      },
        [EV_NEXT]         = { stage_start_next,     JOB_STARTING       },
        [EV_CANCEL]       = { job_outcome_end,      JOB_DONE           },
        [EV_ERROR]        = { job_outcome_end,      JOB_DONE           },
    },
    [JOB_STARTING] = {
        [EV_NEXT]         = { stage_start_next,     JOB_STARTING       },
        [EV_BUSY]         = { wait_for_retry,       JOB_WAITING_LAYER  },
        [EV_ASKED]        = { wait_for_answer,      JOB_WAITING_ENGINE },
        [EV_STARTED]      = { stage_start_watch,    JOB_RUNNING        },
        [EV_NONE_LEFT]    = { job_outcome_end,      JOB_DONE           },
        [EV_CANCEL]       = { job_outcome_end,      JOB_DONE           },
        [EV_ERROR]        = { job_outcome_end,      JOB_DONE           },
    },
    [JOB_WAITING_LAYER] = {
        [EV_GO]           = { stage_start_next,     JOB_STARTING       },
        [EV_CANCEL]       = { job_outcome_end,      JOB_DONE           },
    },
    [JOB_WAITING_ENGINE] = {
        [EV_ANSWERED]     = { stage_start_answered, JOB_STARTING       },
        [EV_CANCEL]       = { job_outcome_end,      JOB_DONE           },
    },
    [JOB_RUNNING] = {
        [EV_OVER]         = { stage_end_collect,    JOB_COLLECTING     },
        [EV_CANCEL]       = { cancel_monitor,       JOB_RUNNING        },
        [EV_ERROR]        = { job_outcome_end,      JOB_DONE           },
    },
    [JOB_COLLECTING] = {
        [EV_NEXT]         = { stage_start_next,     JOB_STARTING       },
        [EV_ENDED]        = { job_outcome_end,      JOB_DONE           },
        [EV_STAGE_FAILED] = { job_outcome_end,      JOB_DONE           },
        [EV_ERROR]        = { job_outcome_end,      JOB_DONE           },
    },
    /* clang-format on */
};

void job_table_handle(sbr_job *job, enum job_event event)
{
    while (event != EV_NOTHING) {
        job_step *step = transitions[job->state][event].step;

        if (!step)
            return;
        loop_step();
        job->state = transitions[job->state][event].next;
        event = step(job, event, &job->failure);
    }
}
