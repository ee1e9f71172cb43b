#include "model/denial.h"

#include <jansson.h>
#include <stdio.h>

#include "unit.h"

static void the_same_refusal_is_counted_not_repeated(void **state)
{
    struct denials d = { 0 };
    struct denial many = { DENIAL_CONNECT, "a:443", "network: none", "", 40, 0 };

    (void)state;
    denials_note(&d, DENIAL_CONNECT, "network: none", "--network full", "%s:%d", "a", 443);
    denials_note(&d, DENIAL_CONNECT, "network: none", "--network full", "a:443");
    denials_add(&d, &many);
    denials_note(&d, DENIAL_CONNECT, "network: allow", "", "a:443");
    denials_note(&d, DENIAL_NAME, "network: none", "", "a:443");
    denials_note(&d, DENIAL_CONNECT, "network: none", "", "a:80");
    assert_int_equal(d.n, 4);
    assert_int_equal(d.items[0].count, 42);
    assert_string_equal(d.items[0].remedy, "--network full");
    assert_int_equal(d.items[1].count, 1);
    denials_done(&d);
    assert_null(d.items);
    assert_int_equal(d.n, 0);
}

static void what_finds_no_room_is_counted(void **state)
{
    struct denials d = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        denials_note(&d, DENIAL_CONNECT, "network: none", "", "host:%d", i);
    assert_int_equal(d.n, DENIALS_MAX);
    assert_int_equal(d.dropped, 1000 - DENIALS_MAX);
    denials_note(&d, DENIAL_CONNECT, "network: none", "", "host:3"); /* known already */
    assert_int_equal(d.items[3].count, 2);
    assert_int_equal(d.dropped, 1000 - DENIALS_MAX);
    denials_done(&d);
}

static void a_count_does_not_wrap_around(void **state)
{
    struct denials d = { 0 };
    struct denial one = { DENIAL_PROCESS, "x", "y", "", UINT64_MAX - 1, 0 };

    (void)state;
    denials_add(&d, &one);
    denials_add(&d, &one);
    assert_true(d.items[0].count == UINT64_MAX);
    denials_done(&d);
}

static void a_program_s_text_is_made_visible(void **state)
{
    /* clang-format off */
    static const struct { const char *text, *shown; } rows[] = {
        { "\x1b]0;evil\x07",              "\\x1b]0;evil\\x07" },
        { "a\nsandbox-run: all is well",  "a\\x0asandbox-run: all is well" },
        { "\xff\xfe",                     "\\xff\\xfe" },
        { "caf\xc3\xa9",                  "caf\xc3\xa9" },
        { "cut \xe2\x82",                 "cut \\xe2\\x82" },
        { "\xc2\x9b""31m",                "\\xc2\\x9b31m" },      /* CSI as one character of C1 */
        { "gpj.\xe2\x80\xae""exe",        "gpj.\\xe2\\x80\\xaeexe" }, /* right to left from here */
        { "\xed\xa0\x80",                 "\\xed\\xa0\\x80" },    /* half a surrogate pair */
        { "\xc0\xaf",                     "\\xc0\\xaf" },         /* overlong */
        { "",                             "" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct denials d = { 0 }, again = { 0 };

        denials_note(&d, DENIAL_FILE, rows[i].text, "", "%s", rows[i].text);
        assert_string_equal(d.items[0].target, rows[i].shown);
        assert_string_equal(d.items[0].rule, rows[i].shown);
        denials_merge(&again, &d);
        assert_string_equal(again.items[0].target, rows[i].shown);
        denials_done(&again);
    }
}

static void what_is_too_long_ends_in_dots(void **state)
{
    char huge[4096];
    struct denials d = { 0 };
    struct denial raw = { .kind = DENIAL_NAME };

    (void)state;
    memset(huge, 'a', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    denials_note(&d, DENIAL_FILE, huge, huge, "%s", huge);
    assert_int_equal(strlen(d.items[0].target), sizeof(raw.target) - 1);
    assert_string_equal(d.items[0].target + sizeof(raw.target) - 5, "a...");
    assert_string_equal(d.items[0].rule + sizeof(raw.rule) - 5, "a...");
    /* As it may stand in shared memory: no end anywhere, and every byte grows to four. */
    memset(raw.target, 0x01, sizeof(raw.target));
    memset(raw.rule, 0xff, sizeof(raw.rule));
    memset(raw.remedy, 'r', sizeof(raw.remedy));
    denials_add(&d, &raw);
    assert_int_equal(d.n, 2);
    assert_true(strlen(d.items[1].target) < sizeof(raw.target));
    assert_non_null(strstr(d.items[1].target, "\\x01..."));
    assert_true(strlen(d.items[1].rule) < sizeof(raw.rule));
    raw.kind = N_DENIAL_KINDS;
    denials_add(&d, &raw);
    assert_int_equal(d.n, 2);
    denials_done(&d);
}

static void every_length_around_the_bound_is_whole(void **state)
{
    (void)state;
    for (size_t len = 260; len < 300; len++) {
        struct denials d = { 0 };
        char text[300];

        for (size_t i = 0; i < len; i++)
            text[i] = "\xe2\x82\xac"[i % 3];
        text[len] = '\0';
        denials_note(&d, DENIAL_FILE, "", "", "%s", text);
        assert_true(strlen(d.items[0].target) < sizeof(d.items[0].target));
        if (len % 3 == 0 && len < sizeof(d.items[0].target))
            assert_string_equal(d.items[0].target, text);
        denials_done(&d);
    }
}

static void a_remedy_can_be_pasted_into_a_shell(void **state)
{
    /* clang-format off */
    static const struct { const char *remedy; bool kept; } rows[] = {
        { "--network allow --allow-host *.example.org:443", true },
        { "--allow-host [2001:db8::1]:443",                 true },
        { "--volume /a:/a:ro",                              true },
        { "--volume /a;rm -rf ~:/a",                        false },
        { "--volume $(id):/a",                              false },
        { "--volume `id`:/a",                               false },
        { "--volume /a\nid:/a",                             false },
        { "--volume /a(e:id:):/a",                          false },
        { "--volume '/a':/a",                               false },
        { "`pids=256` in the language's file",              true },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct denials d = { 0 };

        denials_note(&d, DENIAL_FILE, "r", rows[i].remedy, "t");
        assert_string_equal(d.items[0].remedy, rows[i].kept ? rows[i].remedy : "");
        denials_done(&d);
    }
}

static void merging_adds_counts_and_keeps_order(void **state)
{
    struct denials a = { 0 }, b = { 0 };

    (void)state;
    denials_note(&a, DENIAL_NAME, "r", "", "one");
    denials_note(&b, DENIAL_NAME, "r", "", "two");
    denials_note(&b, DENIAL_NAME, "r", "", "one");
    b.dropped = 5;
    denials_merge(&a, &b);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.items[0].count, 2);
    assert_string_equal(a.items[1].target, "two");
    assert_int_equal(a.dropped, 5);
    assert_null(b.items);
    denials_done(&a);
}

static json_t *as_json(const struct denials *d)
{
    json_error_t where;
    struct jsonw j;
    json_t *root;
    char *text;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    denials_put_json(&j, d);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("%s: %s", where.text, text);
    free(text);
    return root;
}

static void json_has_every_field_and_null_without_a_remedy(void **state)
{
    const char *kind, *target, *rule, *remedy;
    struct denials d = { 0 };
    json_t *root = as_json(&d), *first;
    int count;

    (void)state;
    assert_int_equal(json_array_size(json_object_get(root, "denials")), 0);
    assert_null(json_object_get(root, "denials_dropped"));
    json_decref(root);
    denials_note(&d, DENIAL_SYSCALL, "default.yaml: keys", "", "keyctl");
    denials_note(&d, DENIAL_PROCESS, "limits: pids 64", "--pids 128", "a\xff");
    d.dropped = 3;
    root = as_json(&d);
    first = json_array_get(json_object_get(root, "denials"), 0);
    assert_int_equal(json_object_size(first), 5);
    assert_true(json_is_null(json_object_get(first, "remedy")));
    assert_int_equal(json_unpack(json_array_get(json_object_get(root, "denials"), 1),
                                 "{s:s, s:s, s:s, s:s, s:i !}", "kind", &kind, "target", &target,
                                 "rule", &rule, "remedy", &remedy, "count", &count),
                     0);
    assert_string_equal(kind, "process");
    assert_string_equal(target, "a\\xff");
    assert_int_equal(json_integer_value(json_object_get(root, "denials_dropped")), 3);
    json_decref(root);
    denials_done(&d);
}

static int added;

static void count_added(void *context, const struct denial *one)
{
    assert_ptr_equal(context, &added);
    assert_string_equal(one->target, "mount");
    added++;
}

static void only_a_new_refusal_is_reported(void **state)
{
    struct denials denials = { .watch = { count_added, &added } };

    (void)state;
    denials_note(&denials, DENIAL_SYSCALL, "default.yaml", "", "mount");
    denials_note(&denials, DENIAL_SYSCALL, "default.yaml", "", "mount");
    assert_int_equal(added, 1);
    assert_int_equal(denials.items[0].count, 2);
    denials_done(&denials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_refusal_is_counted_not_repeated),
        cmocka_unit_test(only_a_new_refusal_is_reported),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(a_count_does_not_wrap_around),
        cmocka_unit_test(a_program_s_text_is_made_visible),
        cmocka_unit_test(what_is_too_long_ends_in_dots),
        cmocka_unit_test(every_length_around_the_bound_is_whole),
        cmocka_unit_test(a_remedy_can_be_pasted_into_a_shell),
        cmocka_unit_test(merging_adds_counts_and_keeps_order),
        cmocka_unit_test(json_has_every_field_and_null_without_a_remedy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
