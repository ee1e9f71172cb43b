/* Diffs: their form, and that applying them gives the other text. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/scope.h"
#include "patch_model.h"
#include "unit.h"

static struct text text_of(const char *data)
{
    return (struct text){ data, strlen(data) };
}

static void assert_diff(const char *before, const char *after, const char *expected)
{
    uint64_t work = 1u << 20;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    assert_int_equal(textdiff(text_of(before), text_of(after), &work, &out), 0);
    assert_string_equal(out.data ? out.data : "", expected);
    buf_done(&out);
}

static void assert_applies(struct text before, struct text after, uint64_t work)
{
    scoped_free char *again = NULL;
    struct buf out;
    size_t len = 0;

    buf_init(&out, SIZE_MAX / 2);
    assert_int_equal(textdiff(before, after, &work, &out), 0);
    again = patch_apply(before, (struct text){ out.data, out.len }, &len);
    if (!again || len != after.len || memcmp(again, after.data, len) != 0)
        fail_msg("'%.*s' does not make '%.*s' of '%.*s'", (int)out.len, out.data, (int)after.len,
                 after.data, (int)before.len, before.data);
    buf_done(&out);
}

static void equal_texts_have_no_diff(void **state)
{
    (void)state;
    assert_diff("", "", "");
    assert_diff("a\nb\n", "a\nb\n", "");
    assert_diff("a", "a", "");
}

static void a_hunk_has_three_lines_around_it(void **state)
{
    (void)state;
    assert_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
                "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void near_hunks_are_one(void **state)
{
    (void)state;
    /* Six lines between them: one hunk; seven: two. */
    assert_diff("x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
                "@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n");
    assert_diff("x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
                "@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n");
}

static void nothing_has_the_line_before_it(void **state)
{
    (void)state;
    assert_diff("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_diff("a\n", "", "@@ -1 +0,0 @@\n-a\n");
}

static void a_missing_newline_is_told(void **state)
{
    (void)state;
    assert_diff("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    assert_diff("a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
}

static void pieces_begin_where_people_would_begin_them(void **state)
{
    (void)state;
    assert_diff("a()\n{\n}\n\nc()\n{\n}\n", "a()\n{\n}\n\nb()\n{\n}\n\nc()\n{\n}\n",
                "@@ -2,6 +2,10 @@\n {\n }\n \n+b()\n+{\n+}\n+\n c()\n {\n }\n");
    assert_diff("a()\n{\n x\n}\n", "a()\n{\n x\n}\n\nb()\n{\n x\n}\n",
                "@@ -2,3 +2,8 @@\n {\n  x\n }\n+\n+b()\n+{\n+ x\n+}\n");
}

/* The same numbers in each run. */
static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Few different lines, so that much is common and much is ambiguous. */
static size_t random_text(uint32_t *seed, char *text, size_t max_lines)
{
    static const char *const lines[] = { "\n", "a\n", "b\n", "c\n", "long line\n", "+\n", "@@\n" };
    size_t n = next_random(seed) % (max_lines + 1),
           pools = 1 + next_random(seed) % ARRAY_LEN(lines);
    size_t len = 0;

    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(text + len, "%s", lines[next_random(seed) % pools]);
    return len && next_random(seed) % 3 == 0 ? len - 1 : len;
}

static void every_diff_makes_one_text_of_the_other(void **state)
{
    enum { LINES = 60, LONGEST = 16 };
    static char before[LINES * LONGEST], after[LINES * LONGEST];
    static const uint64_t works[] = { 1, 10, 100, UINT64_MAX };
    uint32_t seed = 20240607;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t before_len = random_text(&seed, before, (size_t)i % LINES);
        size_t after_len = random_text(&seed, after, (size_t)i % LINES);

        assert_applies((struct text){ before, before_len }, (struct text){ after, after_len },
                       works[i % (int)ARRAY_LEN(works)]);
    }
}

/* Texts that differ as much as they can, of a size that an exact answer would take hours for. */
static void work_is_bounded(void **state)
{
    enum { LINES = 200000 };
    char *before = malloc(2 * LINES), *after = malloc(2 * LINES);
    uint64_t work = 10000000, start;
    uint32_t seed = 1;
    struct buf out;

    (void)state;
    assert_non_null(before);
    assert_non_null(after);
    for (int i = 0; i < LINES; i++) {
        before[2 * i] = (char)('a' + next_random(&seed) % 20);
        after[2 * i] = (char)('a' + next_random(&seed) % 20);
        before[2 * i + 1] = after[2 * i + 1] = '\n';
    }
    assert_applies((struct text){ before, 2 * LINES }, (struct text){ after, 2 * LINES }, work);
    start = clock_now_us();
    buf_init(&out, SIZE_MAX / 2);
    assert_int_equal(textdiff((struct text){ before, 2 * LINES }, (struct text){ after, 2 * LINES },
                              &work, &out),
                     0);
    assert_true(clock_now_us() - start < 10000000);
    assert_int_equal(work, 0);
    buf_done(&out);
    free(before);
    free(after);
}

static void a_full_buffer_is_told(void **state)
{
    uint64_t work = 1u << 20;
    struct buf out;

    (void)state;
    buf_init(&out, 10);
    assert_int_equal(textdiff(text_of("a\n"), text_of("b\n"), &work, &out), -1);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_no_diff),
        cmocka_unit_test(a_hunk_has_three_lines_around_it),
        cmocka_unit_test(near_hunks_are_one),
        cmocka_unit_test(nothing_has_the_line_before_it),
        cmocka_unit_test(a_missing_newline_is_told),
        cmocka_unit_test(pieces_begin_where_people_would_begin_them),
        cmocka_unit_test(every_diff_makes_one_text_of_the_other),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(a_full_buffer_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
