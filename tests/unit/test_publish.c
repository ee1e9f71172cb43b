#include "model/publish.h"

#include "unit.h"

static void a_rule_reads(void **state)
{
    static const struct {
        const char *text;
        bool v4, v6;
        uint16_t port, inside;
    } rows[] = {
        { "8080", true, true, 8080, 8080 },
        { "8080:80", true, true, 8080, 80 },
        { "0:80", true, true, 0, 80 },
        { "8080:80/tcp", true, true, 8080, 80 },
        { "127.0.0.1:8080", true, false, 8080, 8080 },
        { "127.0.0.1:8080:80", true, false, 8080, 80 },
        { "[::1]:8080:80", false, true, 8080, 80 },
        { "[::1]:8080", false, true, 8080, 8080 },
        { "localhost:0:65535", true, true, 0, 65535 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct publish_rule rule;
        sbr_error err;

        assert_int_equal(publish_parse(rows[i].text, &rule, &err), 0);
        assert_int_equal(rule.v4, rows[i].v4);
        assert_int_equal(rule.v6, rows[i].v6);
        assert_int_equal(rule.port, rows[i].port);
        assert_int_equal(rule.inside, rows[i].inside);
    }
}

static void another_text_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } rows[] = {
        { "", "8080:80", SBR_E_INVALID },
        { "0", "0:INSIDE", SBR_E_INVALID },
        { "80:0", "from 1 to 65535", SBR_E_INVALID },
        { "65536", "from 1 to 65535", SBR_E_INVALID },
        { "123456:80", "from 1 to 65535", SBR_E_INVALID },
        { "+80", "from 1 to 65535", SBR_E_INVALID },
        { " 80", "from 1 to 65535", SBR_E_INVALID },
        { "80:", "from 1 to 65535", SBR_E_INVALID },
        { "80:x", "from 1 to 65535", SBR_E_INVALID },
        { "[::1]", "from 1 to 65535", SBR_E_INVALID },
        { "127.0.0.1:1:2:3", "from 1 to 65535", SBR_E_INVALID },
        { ":80", "from 1 to 65535", SBR_E_INVALID },
        { ":8080:80", "loopback only", SBR_E_INVALID },
        { "0.0.0.0:8080:80", "loopback only", SBR_E_INVALID },
        { "[::]:8080:80", "loopback only", SBR_E_INVALID },
        { "127.0.0.10:80:80", "loopback only", SBR_E_INVALID },
        { "example.org:80", "loopback only", SBR_E_INVALID },
        { "8080:80/udp", "only TCP", SBR_E_UNSUPPORTED },
        { "8080:80/sctp", "no protocol", SBR_E_INVALID },
        { "8000-8010:80", "each port by itself", SBR_E_UNSUPPORTED },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct publish_rule rule;
        sbr_error err;

        assert_refused(publish_parse(rows[i].text, &rule, &err), &err, rows[i].code, rows[i].says);
    }
}

static void a_port_is_published_once(void **state)
{
    struct publish all = { 0 };
    struct publish_rule rule;
    sbr_error err;

    (void)state;
    assert_int_equal(publish_parse("127.0.0.1:8080:80", &rule, &err), 0);
    assert_int_equal(publish_add(&all, &rule, &err), 0);
    assert_refused(publish_add(&all, &rule, &err), &err, SBR_E_INVALID, "twice");
    assert_int_equal(publish_parse("[::1]:8080:81", &rule, &err), 0);
    assert_int_equal(publish_add(&all, &rule, &err), 0);
    assert_int_equal(publish_parse("0:80", &rule, &err), 0);
    while (all.n < PUBLISH_MAX)
        assert_int_equal(publish_add(&all, &rule, &err), 0);
    assert_refused(publish_add(&all, &rule, &err), &err, SBR_E_INVALID, "at most 16");
}

static void its_addresses_are_text(void **state)
{
    struct publish_rule rule = { .v4 = true, .v6 = true, .port = 8080, .inside = 80 };
    char text[PUBLISH_TEXT_SIZE];

    (void)state;
    assert_string_equal(publish_text(&rule, text), "127.0.0.1:8080 and [::1]:8080");
    rule.v4 = false;
    rule.port = 65535;
    assert_string_equal(publish_text(&rule, text), "[::1]:65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_reads),
        cmocka_unit_test(another_text_is_refused),
        cmocka_unit_test(a_port_is_published_once),
        cmocka_unit_test(its_addresses_are_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
