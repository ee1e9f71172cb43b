/* The lives of connections and of executions: each state under each event, against a picture of
 * its own. */
#include <string.h>

#include "http/life.h"
#include "unit.h"

/* A row per state, a column per event, in the order of the header.  '.': impossible. */
static const char events[] = "RPWTMwgr+hsue";
static const char states[] = "-IRFHWYSUG";
static const char *const picture[LIFE_STATES] = {
    [LIFE_NEVER] = ".............",     [LIFE_IDLE] = "R..I........G",
    [LIFE_RECEIVING] = ".RH....F....G", [LIFE_REFUSED] = "..Y.........G",
    [LIFE_HANDLED] = ".....W.Y....G",   [LIFE_WAITING] = ".....WHY....G",
    [LIFE_READY] = "........YS..G",     [LIFE_SENDING] = "........S.IUG",
    [LIFE_UPGRADED] = "....U.......G",  [LIFE_GONE] = ".............",
};

static enum life_state state_of(char letter)
{
    return (enum life_state)(strchr(states, letter) - states);
}

static void test_each_cell(void **unused)
{
    (void)unused;
    for (unsigned int at = 0; at < LIFE_STATES; at++) {
        assert_int_equal(strlen(picture[at]), LIFE_EVENTS);
        for (unsigned int event = 0; event < LIFE_EVENTS; event++) {
            enum life_state state = (enum life_state)at;
            bool taken = life_take(&state, (enum life_event)event);

            assert_int_equal(taken, picture[at][event] != '.');
            assert_int_equal(state, taken ? state_of(picture[at][event]) : (enum life_state)at);
            if (!taken)
                assert_true(strlen(life_reason((enum life_event)event)) > 10);
        }
    }
}

/* True when each event was possible. */
static bool lives(const char *way, char last)
{
    enum life_state state = LIFE_IDLE;

    for (; *way; way++)
        if (!life_take(&state, (enum life_event)(strchr(events, *way) - events)))
            return false;
    return state == state_of(last);
}

static void test_ways(void **unused)
{
    (void)unused;
    assert_true(lives("RWrhs", 'I'));               /* at once */
    assert_true(lives("RPPWwgwr+h++sRWrhsT", 'I')); /* a large body, then another request */
    assert_true(lives("RPrWhs", 'I'));              /* too much of it */
    assert_true(lives("RWrhuMMe", 'G'));
    assert_true(lives("RWwe", 'G'));   /* the client leaves what it waits for */
    assert_false(lives("RWrr", 'Y'));  /* two replies */
    assert_false(lives("RWwer", 'G')); /* a reply to nobody */
    assert_false(lives("RR", 'R'));
    assert_false(lives("RWhs", 'I')); /* a head without a reply */
    assert_false(lives("RWrhsP", 'I'));
    assert_false(lives("RWrhuR", 'R'));
    assert_false(lives("ee", 'G'));
}

/* Wherever it is, a connection can be ended, and nothing comes after it. */
static void test_each_ends(void **unused)
{
    (void)unused;
    for (unsigned int at = LIFE_IDLE; at < LIFE_GONE; at++) {
        enum life_state state = (enum life_state)at;

        assert_true(life_take(&state, LIFE_END));
        for (unsigned int event = 0; event < LIFE_EVENTS; event++)
            assert_false(life_take(&state, (enum life_event)event));
    }
}

static const char run_states[] = "-QCRSEO";
static const char *const run_picture[RUN_STATES] = {
    [RUN_NEVER] = ".....",   [RUN_QUEUED] = "RQCE.",   [RUN_CALLED_OFF] = "SCCE.",
    [RUN_RUNNING] = "RQSE.", [RUN_STOPPING] = "SCSE.", [RUN_ENDED] = "....O",
    [RUN_OVER] = ".....",
};

static void test_each_cell_of_a_run(void **unused)
{
    (void)unused;
    for (unsigned int at = 0; at < RUN_STATES; at++) {
        assert_int_equal(strlen(run_picture[at]), RUN_EVENTS);
        for (unsigned int event = 0; event < RUN_EVENTS; event++) {
            enum run_state state = (enum run_state)at;
            bool taken = life_take_run(&state, (enum run_event)event);

            assert_int_equal(taken, run_picture[at][event] != '.');
            if (taken)
                assert_int_equal(run_states[state], run_picture[at][event]);
            else
                assert_int_equal(state, at);
            if (!taken)
                assert_true(strlen(life_run_reason((enum run_event)event)) > 10);
        }
    }
}

/* What a reader of a run sees: it is over once, behind its result, and stays begun. */
static void test_ends_of_a_run(void **unused)
{
    (void)unused;
    for (unsigned int at = RUN_QUEUED; at <= RUN_STOPPING; at++) {
        enum run_state state = (enum run_state)at;

        assert_false(life_take_run(&state, RUN_SETTLE));
        assert_true(life_take_run(&state, RUN_RESULT));
        assert_false(life_take_run(&state, RUN_RESULT));
        assert_false(life_take_run(&state, RUN_CANCEL));
        assert_true(life_has_begun(state) && !life_is_cancelled(state));
        assert_true(life_take_run(&state, RUN_SETTLE));
        assert_int_equal(state, RUN_OVER);
    }
    assert_true(life_is_cancelled(RUN_CALLED_OFF) && !life_has_begun(RUN_CALLED_OFF));
    assert_true(life_is_cancelled(RUN_STOPPING) && life_has_begun(RUN_STOPPING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cell),     cmocka_unit_test(test_ways),
        cmocka_unit_test(test_each_ends),     cmocka_unit_test(test_each_cell_of_a_run),
        cmocka_unit_test(test_ends_of_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
