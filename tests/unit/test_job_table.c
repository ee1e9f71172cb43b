/* The table with steps that only say what they came to: which one follows, and in which state. */
#include "job/job_steps.h"

#include <stdlib.h>

#include "unit.h"

/* What the steps come to, in their order, and what was called. */
static const enum job_event *script;
static char called[16];
static unsigned int n_called;

static enum job_event play(char step)
{
    called[n_called++] = step;
    return *script++;
}

#define STEP(name, letter)                                                                         \
    enum job_event name(sbr_job *job, enum job_event event, sbr_error *err)                        \
    {                                                                                              \
        return play(letter);                                                                       \
    }

STEP(job_decide_stages, 'd')
STEP(stage_start_next, 'n')
STEP(stage_start_answered, 'a')
STEP(stage_start_watch, 'w')
STEP(stage_end_collect, 'c')
STEP(job_outcome_end, 'e')

static sbr_job *job;

static int set_up(void **state)
{
    job = calloc(1, sizeof(*job));
    assert_non_null(job);
    assert_int_equal(loop_init_timers(&job->loop, "monitor", &job->failure), 0);
    n_called = 0;
    memset(called, 0, sizeof(called));
    return 0;
}

static int tear_down(void **state)
{
    loop_done(&job->loop);
    free(job);
    return 0;
}

static void expect(enum job_event event, const enum job_event *results, const char *steps,
                   enum job_state state)
{
    script = results;
    n_called = 0;
    memset(called, 0, sizeof(called));
    job_table_handle(job, event);
    assert_string_equal(called, steps);
    assert_int_equal(job->state, state);
}

#define RESULTS(...) ((const enum job_event[]){ __VA_ARGS__ })

static void a_cold_run_goes_from_its_stages_to_its_result(void **state)
{
    expect(EV_GO, RESULTS(EV_NEXT, EV_STARTED, EV_NOTHING), "dnw", JOB_RUNNING);
    expect(EV_OVER, RESULTS(EV_ENDED, EV_NOTHING), "ce", JOB_DONE);
}

static void a_compiled_one_has_a_stage_more(void **state)
{
    expect(EV_GO, RESULTS(EV_NEXT, EV_STARTED, EV_NOTHING), "dnw", JOB_RUNNING);
    expect(EV_OVER, RESULTS(EV_NEXT, EV_STARTED, EV_NOTHING), "cnw", JOB_RUNNING);
    expect(EV_OVER, RESULTS(EV_STAGE_FAILED, EV_NOTHING), "ce", JOB_DONE);
}

static void an_engine_is_waited_for_and_may_leave_the_stage_to_us(void **state)
{
    expect(EV_GO, RESULTS(EV_NEXT, EV_ASKED), "dn", JOB_WAITING_ENGINE);
    expect(EV_GO, NULL, "", JOB_WAITING_ENGINE); /* an old timer */
    expect(EV_ANSWERED, RESULTS(EV_STARTED, EV_NOTHING), "aw", JOB_RUNNING);
    expect(EV_OVER, RESULTS(EV_NEXT, EV_STARTED, EV_NOTHING), "cnw", JOB_RUNNING);
}

static void what_another_process_has_is_tried_again(void **state)
{
    expect(EV_GO, RESULTS(EV_BUSY), "d", JOB_RESOLVING);
    expect(EV_GO, RESULTS(EV_NEXT, EV_BUSY), "dn", JOB_WAITING_LAYER);
    expect(EV_GO, RESULTS(EV_BUSY), "n", JOB_WAITING_LAYER);
    expect(EV_GO, RESULTS(EV_NEXT, EV_NONE_LEFT, EV_NOTHING), "nne", JOB_DONE);
}

static void every_wait_can_be_cancelled(void **state)
{
    static const enum job_state waits[] = { JOB_RESOLVING, JOB_WAITING_LAYER, JOB_WAITING_ENGINE };

    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        job->state = waits[i];
        expect(EV_CANCEL, RESULTS(EV_NOTHING), "e", JOB_DONE);
    }
}

static void every_state_but_the_last_ends_with_an_error(void **state)
{
    static const enum job_state working[] = { JOB_RESOLVING, JOB_STARTING, JOB_RUNNING,
                                              JOB_COLLECTING };

    for (size_t i = 0; i < ARRAY_LEN(working); i++) {
        job->state = working[i];
        expect(EV_ERROR, RESULTS(EV_NOTHING), "e", JOB_DONE);
    }
}

static void nothing_happens_after_the_end(void **state)
{
    job->state = JOB_DONE;
    for (unsigned int event = 0; event < N_JOB_EVENTS; event++)
        expect((enum job_event)event, NULL, "", JOB_DONE);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TABLE_TEST(a_cold_run_goes_from_its_stages_to_its_result),
        TABLE_TEST(a_compiled_one_has_a_stage_more),
        TABLE_TEST(an_engine_is_waited_for_and_may_leave_the_stage_to_us),
        TABLE_TEST(what_another_process_has_is_tried_again),
        TABLE_TEST(every_wait_can_be_cancelled),
        TABLE_TEST(every_state_but_the_last_ends_with_an_error),
        TABLE_TEST(nothing_happens_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
