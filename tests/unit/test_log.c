#include "base/log.h"

#include <unistd.h>

#include "unit.h"

static int ends[2];

static int open_pipe(void **state)
{
    (void)state;
    return pipe(ends);
}

static int close_pipe(void **state)
{
    (void)state;
    log_open(LOG_SILENT, -1);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* What was logged so far; a full stop behind it keeps the read from waiting. */
static const char *logged(void)
{
    static char text[4096];
    ssize_t n;

    assert_int_equal(write(ends[1], ".", 1), 1);
    n = read(ends[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n - 1] = '\0';
    return text;
}

static void a_log_that_nobody_opened_is_silent(void **state)
{
    (void)state;
    log_open(LOG_SILENT, ends[1]);
    log_info("plan", "one");
    log_debug("plan", "two");
    log_line(LOG_INFO, "plan", "three");
    assert_string_equal(logged(), "");
    log_open(LOG_DEBUG, -1);
    assert_int_equal(log_current_level, LOG_SILENT);
}

static void a_level_lets_through_what_is_at_most_as_chatty(void **state)
{
    const char *text;

    (void)state;
    log_open(LOG_INFO, ends[1]);
    log_info("plan", "seen %d", 1);
    log_debug("plan", "not seen");
    text = logged();
    assert_non_null(strstr(text, " ms plan: seen 1\n"));
    assert_null(strstr(text, "not seen"));
    log_open(LOG_DEBUG, ends[1]);
    log_debug("plan", "now seen");
    assert_non_null(strstr(logged(), "plan: now seen\n"));
}

static void control_characters_of_strangers_are_not_logged(void **state)
{
    (void)state;
    log_open(LOG_INFO, ends[1]);
    log_info("plan", "a%sb", "\x1b[31m\n\x7f");
    assert_non_null(strstr(logged(), "plan: a?[31m??b\n"));
}

static void a_long_line_is_cut_and_still_a_line(void **state)
{
    char text[3000];
    const char *line;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_open(LOG_INFO, ends[1]);
    log_info("plan", "%s", text);
    line = logged();
    assert_true(strlen(line) <= 1024);
    assert_int_equal(line[strlen(line) - 1], '\n');
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_int_equal(log_level_from_name("debug"), LOG_DEBUG);
    assert_int_equal(log_level_from_name("info"), LOG_INFO);
    assert_int_equal(log_level_from_name("loud"), LOG_SILENT);
    assert_int_equal(log_level_from_name(""), LOG_SILENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_nobody_opened_is_silent),
        cmocka_unit_test(a_level_lets_through_what_is_at_most_as_chatty),
        cmocka_unit_test(control_characters_of_strangers_are_not_logged),
        cmocka_unit_test(a_long_line_is_cut_and_still_a_line),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, open_pipe, close_pipe);
}
