#include <stdio.h>

#include "egress/names.h"
#include "unit.h"

static struct address parse(const char *text)
{
    struct address a;

    assert_true(address_parse(text, &a));
    return a;
}

static void a_name_keeps_its_number(void **state)
{
    static struct names names;
    unsigned int first, second, again;
    struct name_entry *entry;

    (void)state;
    entry = names_take(&names, "example.org", &first);
    assert_non_null(entry);
    assert_string_equal(entry->name, "example.org");
    assert_int_equal(entry->n_addresses, 0);
    assert_int_equal(entry->resolved_us, 0);
    assert_non_null(names_take(&names, "example.net", &second));
    assert_int_not_equal(first, second);
    assert_ptr_equal(names_take(&names, "example.org", &again), entry);
    assert_int_equal(first, again);
    names_done(&names);
    assert_int_equal(names.n, 0);
}

static void an_address_inside_leads_back_to_its_name(void **state)
{
    static struct names names;
    unsigned int number;
    char name[32];

    (void)state;
    for (unsigned int i = 0; i < NAMES_MAX; i++) {
        struct address v4 = names_inside(i, false), v6 = names_inside(i, true);
        struct name_entry *entry;

        assert_null(names_of(&names, &v4));
        assert_null(names_of(&names, &v6));
        snprintf(name, sizeof(name), "n%u.example", i);
        entry = names_take(&names, name, &number);
        assert_non_null(entry);
        assert_int_equal(number, i);
        assert_true(address_is_v4(&v4));
        assert_false(address_is_v4(&v6));
        assert_ptr_equal(names_of(&names, &v4), entry);
        assert_ptr_equal(names_of(&names, &v6), entry);
        assert_true(names_is_inside(&v4));
        assert_true(names_is_inside(&v6));
    }
    assert_null(names_take(&names, "one.more.example", &number));
    assert_non_null(names_take(&names, "n0.example", &number));
    names_done(&names);
}

static void an_address_near_by_stands_for_nothing(void **state)
{
    static const char *const rows[] = {
        "198.18.0.1",
        "198.18.0.2",
        "198.18.3.255",
        "198.18.4.1",
        "198.19.255.255",
        "198.20.4.0",
        "fd53:6272::",
        "fd53:6272::1",
        "fd53:6272:1::1",
        "fd53:6272:2::",
        "::",
        "fd53:6272:1:1::",
        "fd53:6272:1::1:0:0",
        "fd53:6272:1::ffff:ffff",
        "8.8.8.8",
        "::198.18.4.0",
    };
    static struct names names;
    unsigned int number;
    struct address a;

    (void)state;
    assert_non_null(names_take(&names, "example.org", &number));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        a = parse(rows[i]);
        if (names_of(&names, &a))
            fail_msg("%s stands for a name", rows[i]);
    }
    a = parse("198.18.4.0");
    assert_non_null(names_of(&names, &a));
    a = parse("fd53:6272:1::");
    assert_non_null(names_of(&names, &a));
    names_done(&names);
}

static void inside_is_where_the_plan_says(void **state)
{
    static const struct {
        const char *text;
        bool inside;
    } rows[] = {
        { "198.17.255.255", false },
        { "198.18.0.0", true },
        { "198.19.255.255", true },
        { "198.20.0.0", false },
        { "fd53:6271:ffff::", false },
        { "fd53:6272::", true },
        { "fd53:6272:ffff:ffff:ffff:ffff:ffff:ffff", true },
        { "fd53:6273::", false },
        { "127.0.0.1", false },
        { "::ffff:198.18.4.0", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = parse(rows[i].text);

        assert_int_equal(names_is_inside(&a), rows[i].inside);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_keeps_its_number),
        cmocka_unit_test(an_address_inside_leads_back_to_its_name),
        cmocka_unit_test(an_address_near_by_stands_for_nothing),
        cmocka_unit_test(inside_is_where_the_plan_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
