#include "session/frame.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static enum frame_found look(const char *text, struct frame *ret)
{
    size_t used = 0;
    enum frame_found found = frame_read(text, strlen(text), ret, &used);

    if (found == FRAME_WHOLE)
        assert_int_equal(used, strlen(text));
    return found;
}

static void a_frame_is_read_as_it_was_written(void **state)
{
    struct frame frame;
    struct buf out;
    size_t used;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(frame_put(&out, "display", 12, "-", "{}\n x", 5), 0);
    assert_int_equal(frame_put(&out, "done", 13, "ok", "", 0), 0);
    assert_int_equal(frame_read(out.data, out.len, &frame, &used), FRAME_WHOLE);
    assert_string_equal(frame.word, "display");
    assert_string_equal(frame.arg, "-");
    assert_int_equal(frame.number, 12);
    assert_int_equal(frame.len, 5);
    assert_memory_equal(frame.payload, "{}\n x", 5);
    assert_int_equal(frame_read(out.data + used, out.len - used, &frame, &used), FRAME_WHOLE);
    assert_string_equal(frame.word, "done");
    assert_string_equal(frame.arg, "ok");
    assert_int_equal(frame.len, 0);
    buf_done(&out);
}

static void every_beginning_of_a_frame_waits_for_more(void **state)
{
    static const char text[] = "answer 7 complete 4\n{ } ";
    struct frame frame;
    size_t used;

    (void)state;
    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_int_equal(frame_read(text, len, &frame, &used), FRAME_PARTIAL);
    assert_int_equal(look(text, &frame), FRAME_WHOLE);
}

static void what_is_no_frame_is_refused(void **state)
{
    static const char *const bad[] = {
        "\n",
        "done\n",
        "done 1\n",
        "done 1 ok\n",
        "done 1 ok -1\n",
        "done 1 ok 1x\n",
        "done  1 ok 0\n",
        "Done 1 ok 0\n",
        "done 1 OK 0\n",
        "done x ok 0\n",
        "done 1 ok 0 \n",
        "done 1 ok 16777217\n",
        "done 99999999999999 ok 0\n",
        "adisplaythatistoolong 1 - 0\n",
        "done 1 anargumentthatismuchtoolong 0\n",
    };
    struct frame frame;
    char endless[200];
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(look(bad[i], &frame), FRAME_BAD);
    assert_int_equal(frame_read("\0\0done 1 ok 0\n", 14, &frame, &used), FRAME_BAD);
    memset(endless, 'a', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_int_equal(look(endless, &frame), FRAME_BAD);
    endless[FRAME_HEADER_MAX - 1] = '\0';
    assert_int_equal(look(endless, &frame), FRAME_PARTIAL);
}

static void the_longest_payload_is_accepted(void **state)
{
    static const char text[] = "display 1 - 16777216\n";
    struct frame frame;

    (void)state;
    assert_int_equal(look(text, &frame), FRAME_PARTIAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_read_as_it_was_written),
        cmocka_unit_test(every_beginning_of_a_frame_waits_for_more),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(the_longest_payload_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
