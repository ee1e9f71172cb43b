#include "plan/words.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#define MAX_WORDS 32

/* What was allocated, to free it, and how much more there is to have. */
static void *blocks[MAX_WORDS];
static size_t n_blocks, memory;

static struct word_values values;
static const char *sources[] = { "/work/a.c", "/work/b c.c" };
static const char *args[] = { "-O2", "${binary}" };

static void *alloc(void *context, size_t size)
{
    (void)context;
    if (n_blocks >= memory)
        return NULL;
    return blocks[n_blocks++] = malloc(size);
}

static int set_up(void **state)
{
    (void)state;
    n_blocks = 0;
    memory = MAX_WORDS;
    values = (struct word_values){ .text = { [WORD_BINARY] = "/usr/bin/cc",
                                             [WORD_HOME] = "/usr",
                                             [WORD_SOURCE] = "/work/a.c",
                                             [WORD_WORK] = "/work",
                                             [WORD_BUILD] = "/build",
                                             [WORD_DRIVER] = "/driver",
                                             [WORD_MEMORY_MB] = "512" },
                                   .sources = { sources, ARRAY_LEN(sources) },
                                   .compile_args = { args, ARRAY_LEN(args) } };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (n_blocks)
        free(blocks[--n_blocks]);
    return 0;
}

/* Expands the words, which end in NULL, and compares them joined. */
static void assert_expanded(const char *const *words, const char *expected)
{
    const char *at[MAX_WORDS];
    struct word_output out = { .at = at, .alloc = alloc };
    struct words list = { .at = (const char **)words };
    char joined[500] = "";
    size_t used = 0;

    while (words[list.n])
        list.n++;
    assert_int_equal(words_expand(&list, &values, &out), 0);
    assert_true(out.n < words_room(&list, &values));
    for (size_t i = 0; i < out.n; i++)
        used += (size_t)snprintf(joined + used, sizeof(joined) - used, "[%s]", out.at[i]);
    assert_string_equal(joined, expected);
}

#define ASSERT_EXPANDED(expected, ...)                                                             \
    assert_expanded((const char *const[]){ __VA_ARGS__, NULL }, expected)

static void a_word_without_names_stays(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[-c][][$HOME][$][{}][a$b]", "-c", "", "$HOME", "$", "{}", "a$b");
    assert_int_equal(n_blocks, 0); /* it is not even copied */
}

static void a_name_is_replaced_wherever_it_stands(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[/usr/bin/cc][-iquote/work][a/build/b/usrc][/work/work]", "${binary}",
                    "-iquote${work}", "a${build}/b${home}c", "${work}${work}");
}

static void every_name_that_is_no_list_is_known(void **state)
{
    static const char *const names[] = { "binary", "home",     "source", "work",      "build",
                                         "deps",   "prepared", "driver", "memory_mb", "toolchain" };
    char word[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(word, sizeof(word), "${%s}", names[i]);
        assert_true(words_are_known(word));
        snprintf(word, sizeof(word), "a${%s}${%s}b", names[i], names[i]);
        assert_true(words_are_known(word));
    }
}

static void what_is_no_name_is_not_known(void **state)
{
    static const char *const texts[] = { "${}",           "${",           "${binary",
                                         "${Binary}",     "${binary }",   "${ binary}",
                                         "${nothing}",    "x${work}${y}", "${${work}}",
                                         "${wor${work}}", "${binaryx}",   "${binar}",
                                         "${work}${" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (words_are_known(texts[i]))
            fail_msg("'%s' should not be known", texts[i]);
}

static void text_that_only_looks_like_a_name_is_known(void **state)
{
    (void)state;
    assert_true(words_are_known(""));
    assert_true(words_are_known("$work $$ {work} $(work) }{"));
}

static void a_list_stands_alone(void **state)
{
    (void)state;
    assert_true(words_are_known("${sources}"));
    assert_true(words_are_known("${compile_args}"));
    assert_false(words_are_known("-x${sources}"));
    assert_false(words_are_known("${sources},"));
    assert_false(words_are_known("${sources}${sources}"));
    assert_false(words_are_known("A=${compile_args}"));
}

static void a_list_becomes_its_words(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[cc][/work/a.c][/work/b c.c][-o][x]", "cc", "${sources}", "-o", "x");
}

static void an_empty_list_becomes_nothing(void **state)
{
    (void)state;
    values.sources.n = values.compile_args.n = 0;
    ASSERT_EXPANDED("[cc][--]", "cc", "${sources}", "--", "${compile_args}");
}

/* Otherwise whoever writes a request could name what is only ours to name. */
static void what_the_user_gave_is_not_expanded(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[-O2][${binary}]", "${compile_args}");
    values.text[WORD_SOURCE] = "/work/${home}.c";
    ASSERT_EXPANDED("[/work/${home}.c][x/work/${home}.c/usr]", "${source}", "x${source}${home}");
}

static void a_word_without_a_value_is_left_out(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[cc][-lm]", "cc", "-I${deps}", "${prepared}", "-lm");
    ASSERT_EXPANDED("[/work]", "${work}:${deps}", "${deps}:${work}", "${work}");
}

static void an_empty_value_is_a_value(void **state)
{
    (void)state;
    values.text[WORD_DEPS] = "";
    ASSERT_EXPANDED("[-I][]", "-I${deps}", "${deps}");
}

static void nothing_becomes_nothing(void **state)
{
    const struct words none = { 0 };
    const char *at[1];
    struct word_output out = { .at = at, .alloc = alloc };

    (void)state;
    assert_int_equal(words_expand(&none, &values, &out), 0);
    assert_int_equal(out.n, 0);
    assert_true(words_room(&none, &values) >= 1); /* for the end of a list of arguments */
}

static void there_is_room_for_all_of_a_list(void **state)
{
    const char *line[] = { "${sources}", "-I${deps}", "${compile_args}", "${sources}" };
    const struct words words = { line, ARRAY_LEN(line) };

    (void)state;
    assert_true(words_room(&words, &values) >= 2 + 1 + 2 + 2 + 1);
}

static void without_memory_there_is_no_expansion(void **state)
{
    const char *line[] = { "a", "${work}" };
    const struct words words = { line, ARRAY_LEN(line) };
    const char *at[MAX_WORDS];
    struct word_output out = { .at = at, .alloc = alloc };

    (void)state;
    memory = 0;
    assert_int_equal(words_expand(&words, &values, &out), -1);
}

static void it_is_seen_which_names_are_used(void **state)
{
    const char *line[] = { "a${work}b", "${compile_args}", "deps",
                           "$deps",     "{deps}",          "${nothing}${home}" };
    const struct words words = { line, ARRAY_LEN(line) };

    (void)state;
    assert_true(words_use(&words, WORD_WORK));
    assert_true(words_use(&words, WORD_COMPILE_ARGS));
    assert_true(words_use(&words, WORD_HOME));
    assert_false(words_use(&words, WORD_DEPS));
    assert_false(words_use(&words, WORD_SOURCES));
}

/* A file that was read by another version must not make the result longer than its block. */
static void a_name_that_is_unknown_stays_as_it_is(void **state)
{
    (void)state;
    ASSERT_EXPANDED("[${nothing}][${][${}/work][${wor/work}]", "${nothing}", "${", "${}${work}",
                    "${wor${work}}");
}

#define WORDS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORDS_TEST(a_word_without_names_stays),
        WORDS_TEST(a_name_is_replaced_wherever_it_stands),
        WORDS_TEST(every_name_that_is_no_list_is_known),
        WORDS_TEST(what_is_no_name_is_not_known),
        WORDS_TEST(text_that_only_looks_like_a_name_is_known),
        WORDS_TEST(a_list_stands_alone),
        WORDS_TEST(a_list_becomes_its_words),
        WORDS_TEST(an_empty_list_becomes_nothing),
        WORDS_TEST(what_the_user_gave_is_not_expanded),
        WORDS_TEST(a_word_without_a_value_is_left_out),
        WORDS_TEST(an_empty_value_is_a_value),
        WORDS_TEST(nothing_becomes_nothing),
        WORDS_TEST(there_is_room_for_all_of_a_list),
        WORDS_TEST(without_memory_there_is_no_expansion),
        WORDS_TEST(it_is_seen_which_names_are_used),
        WORDS_TEST(a_name_that_is_unknown_stays_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
