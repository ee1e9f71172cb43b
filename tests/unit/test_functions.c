#include "work/functions.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void read_text(const char *text, struct functions *ret)
{
    sbr_error err;

    assert_int_equal(functions_read(strdup(text), strlen(text), ret, &err), 0);
}

static void is_use(const struct functions *f, size_t i, const char *frame, uint64_t self_us,
                   uint64_t total_us)
{
    assert_string_equal(f->uses[i].frame, frame);
    assert_int_equal(f->uses[i].self_us, self_us);
    assert_int_equal(f->uses[i].total_us, total_us);
}

static void times_are_summed_and_sorted(void **state)
{
    struct functions f;

    (void)state;
    read_text("main;work;sum 500\nmain;work 100\nmain;rest 300\nmain;work;sum 50\n", &f);
    assert_int_equal(f.n, 4);
    assert_int_equal(f.sum_us, 950);
    is_use(&f, 0, "sum", 550, 550);
    is_use(&f, 1, "rest", 300, 300);
    is_use(&f, 2, "work", 100, 650);
    is_use(&f, 3, "main", 0, 950);
    functions_done(&f);
}

static void a_function_that_calls_itself_counts_once(void **state)
{
    struct functions f;

    (void)state;
    read_text("main;fib;fib;fib 70\nmain;fib;other;fib;leaf 30", &f);
    is_use(&f, 0, "fib", 70, 100);
    is_use(&f, 1, "leaf", 30, 30);
    functions_done(&f);
}

static void lines_of_another_form_are_left_out(void **state)
{
    static const char *const texts[] = { "",      "\n\n",          "a",         "a b",
                                         " 5",    "a 0",           "a -5",      "a 5x",
                                         "a 1e9", "a 99999999999", "a;b;c;d \n" };
    struct functions f;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        read_text(texts[i], &f);
        assert_int_equal(f.n, 0);
        functions_done(&f);
    }
    read_text("x 1\nbroken\na b c 7", &f);
    is_use(&f, 0, "a b c", 7, 7);
    is_use(&f, 1, "x", 1, 1);
    functions_done(&f);
}

static void names_of_a_program_are_shown_without_their_effect(void **state)
{
    struct functions f;
    char name[40];

    (void)state;
    read_text("\x1b]0;title\x07 3\n", &f); /* the ';' ends a frame */
    assert_int_equal(f.n, 2);
    for (size_t i = 0; i < f.n; i++) {
        functions_name(&f.uses[i], name, sizeof(name));
        assert_null(strpbrk(name, "\x1b\x07"));
    }
    functions_done(&f);
}

static void a_large_file_is_cut(void **state)
{
    const size_t lines = 600000, len = lines * 4;
    char *text = malloc(len + 1);
    struct functions f;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * 4, "a 1\n", 5);
    assert_int_equal(functions_read(text, len, &f, &err), 0);
    assert_true(f.cut);
    assert_int_equal(f.n, 1);
    assert_true(f.sum_us > 400000 && f.sum_us < lines);
    functions_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_summed_and_sorted),
        cmocka_unit_test(a_function_that_calls_itself_counts_once),
        cmocka_unit_test(lines_of_another_form_are_left_out),
        cmocka_unit_test(names_of_a_program_are_shown_without_their_effect),
        cmocka_unit_test(a_large_file_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
