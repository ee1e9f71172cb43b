/* The lives of connections: each state under each event, against a picture of its own. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cell),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_each_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
