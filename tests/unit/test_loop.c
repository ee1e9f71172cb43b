#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

/* A loop, two pipes, and what happened. */
static struct loop loop;
static int first[2], second[2];
static struct loop_watch watches[2 * LOOP_BATCH];
static int n_watches;
static char seen[64];

static int set_up(void **state)
{
    sbr_error err;

    (void)state;
    seen[0] = '\0';
    n_watches = 0;
    return loop_init_timers(&loop, "test", &err) == 0 && pipe(first) == 0 && pipe(second) == 0 ? 0
                                                                                               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    loop_done(&loop);
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
    }
    return 0;
}

static void note(void *context, uint32_t events)
{
    const char *name = context;

    (void)events;
    assert_true(strlen(seen) + strlen(name) < sizeof(seen));
    memcpy(seen + strlen(seen), name, strlen(name) + 1);
}

/* Contexts are not const; the names here are. */
static int add(int fd, loop_callback *callback, const char *name)
{
    watches[n_watches] = loop_watch_of(fd, callback, (void *)name);
    return loop_add(&loop, &watches[n_watches++], EPOLLIN);
}

static void set_timer(unsigned int slot, uint64_t at_us, loop_callback *callback, const char *name)
{
    loop_set_timer(&loop, slot, at_us, callback, (void *)name);
}

static void poke(const int ends[2])
{
    assert_int_equal(write(ends[1], "x", 1), 1);
}

static void a_watch_is_called_when_its_descriptor_is_ready(void **state)
{
    (void)state;
    assert_int_equal(add(first[0], note, "a"), 0);
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "");
    poke(first);
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_string_equal(seen, "a");
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0); /* nobody read it */
    assert_string_equal(seen, "aa");
}

static void a_removed_watch_is_not_called(void **state)
{
    (void)state;
    assert_int_equal(add(first[0], note, "a"), 0);
    poke(first);
    loop_remove(&loop, &watches[0]);
    loop_remove(&loop, &watches[0]);
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "");
}

static void a_watch_can_be_changed(void **state)
{
    struct loop_watch other = loop_watch_of(second[0], note, NULL);

    (void)state;
    assert_int_equal(add(first[0], note, "a"), 0);
    assert_int_equal(loop_change(&loop, &watches[0], 0), 0);
    poke(first);
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "");
    assert_int_equal(loop_change(&loop, &watches[0], EPOLLIN), 0);
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_string_equal(seen, "a");
    assert_int_equal(loop_change(&loop, &other, EPOLLIN), -1);
    assert_int_equal(errno, ENOENT);
}

static void more_watches_than_one_turn_handles_are_all_called(void **state)
{
    int copies[LOOP_BATCH + 3];

    (void)state;
    poke(first);
    for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
        copies[i] = dup(first[0]);
        assert_int_equal(add(copies[i], note, ""), 0);
    }
    assert_int_equal(loop_turn(&loop, 0), LOOP_BATCH);
    assert_int_equal(loop_turn(&loop, 0), LOOP_BATCH);
    for (size_t i = 0; i < ARRAY_LEN(copies); i++)
        loop_close(&loop, &watches[i]);
    assert_int_equal(loop_turn(&loop, 0), 0);
}

static void what_cannot_be_watched_is_not_watched(void **state)
{
    (void)state;
    assert_int_equal(add(1 << 20, note, "a"), -1);
    assert_false(watches[0].on);
    loop_remove(&loop, &watches[0]);
    assert_int_equal(add(first[0], note, "a"), 0);
}

static struct loop_watch heir;

static void move_to_heir(void *context, uint32_t events)
{
    note(context, events);
    loop_move(&loop, &watches[context == watches[0].context ? 1 : 0], &heir);
}

static void the_event_of_a_moved_watch_is_its_heirs(void **state)
{
    char x[] = "x", y[] = "y";

    (void)state;
    heir = loop_watch_of(-1, note, (void *)"heir");
    assert_int_equal(add(first[0], move_to_heir, x), 0);
    assert_int_equal(add(second[0], move_to_heir, y), 0);
    poke(first);
    poke(second);
    assert_int_equal(loop_turn(&loop, LOOP_FOREVER), 2);
    assert_true(!strcmp(seen, "xheir") || !strcmp(seen, "yheir"));
}

static void what_is_freed_later_is_there_until_the_turn_is_over(void **state)
{
    struct loop_garbage *garbage = calloc(1, sizeof(*garbage));

    (void)state;
    assert_non_null(garbage);
    loop_free_later(&loop, garbage);
    garbage->next = NULL;
    assert_int_equal(loop_turn(&loop, 0), 0);
    assert_null(loop.garbage);
}

/* Both pipes are ready in the same turn; whichever comes first takes the other away. */
static void remove_both(void *context, uint32_t events)
{
    note(context, events);
    loop_remove(&loop, &watches[0]);
    loop_remove(&loop, &watches[1]);
}

static void a_watch_that_was_removed_in_this_turn_is_not_called(void **state)
{
    (void)state;
    assert_int_equal(add(first[0], remove_both, "x"), 0);
    assert_int_equal(add(second[0], remove_both, "x"), 0);
    poke(first);
    poke(second);
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_string_equal(seen, "x");
}

static int silent[2];

/* The new watch gets the place of a removed one, whose event is still to come in this turn. */
static void remove_both_and_add_one(void *context, uint32_t events)
{
    remove_both(context, events);
    assert_int_equal(add(silent[0], note, "stale"), 0);
    assert_int_equal(add(silent[1], note, "stale"), 0);
}

static void a_new_watch_never_gets_the_event_of_the_one_before_it(void **state)
{
    (void)state;
    assert_int_equal(pipe(silent), 0);
    assert_int_equal(add(first[0], remove_both_and_add_one, "x"), 0);
    assert_int_equal(add(second[0], remove_both_and_add_one, "x"), 0);
    poke(first);
    poke(second);
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    close(silent[0]);
    close(silent[1]);
    assert_string_equal(seen, "x");
}

static void timers_that_are_due_are_called_once(void **state)
{
    uint64_t now = clock_now_us();

    (void)state;
    set_timer(0, now + 3600 * 1000000ULL, note, "later");
    set_timer(1, now, note, "a");
    set_timer(2, 1, note, "b");
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_string_equal(seen, "ab");
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "ab");
}

static void a_timer_that_was_taken_back_is_not_called(void **state)
{
    (void)state;
    set_timer(0, 1, note, "a");
    loop_set_timer(&loop, 0, 0, NULL, NULL);
    set_timer(1, clock_now_us() + 1000, note, "b");
    assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_string_equal(seen, "b");
}

static void set_again(void *context, uint32_t events)
{
    note(context, events);
    if (strlen(seen) < 3)
        loop_set_timer(&loop, 0, clock_now_us() + 500, set_again, context);
}

static void a_timer_may_set_itself_again(void **state)
{
    (void)state;
    set_timer(0, clock_now_us() + 500, set_again, "a");
    while (strlen(seen) < 3)
        assert_true(loop_turn(&loop, LOOP_FOREVER) >= 0);
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "aaa");
}

static void one_descriptor_tells_of_watches_and_of_timers(void **state)
{
    struct pollfd fd = { .fd = loop_fd(&loop), .events = POLLIN };

    (void)state;
    assert_int_equal(add(first[0], note, "a"), 0);
    assert_int_equal(poll(&fd, 1, 0), 0);
    set_timer(0, clock_now_us() + 1000, note, "t");
    assert_int_equal(poll(&fd, 1, 10000), 1);
    assert_true(loop_turn(&loop, 0) >= 0);
    assert_string_equal(seen, "t");
    assert_int_equal(poll(&fd, 1, 0), 0);
    poke(first);
    assert_int_equal(poll(&fd, 1, 10000), 1);
}

#define LOOP_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(a_watch_is_called_when_its_descriptor_is_ready),
        LOOP_TEST(a_removed_watch_is_not_called),
        LOOP_TEST(a_watch_can_be_changed),
        LOOP_TEST(more_watches_than_one_turn_handles_are_all_called),
        LOOP_TEST(what_cannot_be_watched_is_not_watched),
        LOOP_TEST(the_event_of_a_moved_watch_is_its_heirs),
        LOOP_TEST(what_is_freed_later_is_there_until_the_turn_is_over),
        LOOP_TEST(a_watch_that_was_removed_in_this_turn_is_not_called),
        LOOP_TEST(a_new_watch_never_gets_the_event_of_the_one_before_it),
        LOOP_TEST(timers_that_are_due_are_called_once),
        LOOP_TEST(a_timer_that_was_taken_back_is_not_called),
        LOOP_TEST(a_timer_may_set_itself_again),
        LOOP_TEST(one_descriptor_tells_of_watches_and_of_timers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
