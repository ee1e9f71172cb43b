#include "model/address.h"
#include "unit.h"

#define LABEL_63 "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-abc"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61
#define LABEL_61 "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-a"

static void a_name_has_one_form(void **state)
{
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        { "example.org", "example.org" },
        { "EXAMPLE.Org", "example.org" },
        { "example.org.", "example.org" },
        { "localhost", "localhost" },
        { "a", "a" },
        { "a-b.c", "a-b.c" },
        { "_dmarc.example.org", "_dmarc.example.org" },
        { "build_host", "build_host" },
        { "xn--bcher-kva.example", "xn--bcher-kva.example" },
        { "1.2.3.4.example", "1.2.3.4.example" },
        { "1e100.net", "1e100.net" },
        { "127.0.0.1x", "127.0.0.1x" },
        { "0x7f.example", "0x7f.example" },
        { "0xg", "0xg" },
        { "x7f", "x7f" },
        { LABEL_63, LABEL_63 },
        { NAME_253, NAME_253 },
        { NAME_253 ".", NAME_253 },
    };
    char name[HOSTNAME_SIZE], again[HOSTNAME_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(hostname_canonical(rows[i].text, strlen(rows[i].text), name));
        assert_string_equal(name, rows[i].canonical);
        assert_true(hostname_canonical(name, strlen(name), again));
        assert_string_equal(name, again);
    }
}

static void a_hostile_name_is_refused(void **state)
{
    /* clang-format off */
    static const struct {
        const char *text;
        size_t len; /* 0: all of it */
    } rows[] = {
        { "", 0 }, { ".", 0 }, { "..", 0 }, { "example.org..", 0 }, { ".example.org", 0 },
        { "example..org", 0 },
        { "example.org\0.evil.test", 22 }, { "\0", 1 }, { "example.org\0", 12 },
        { "exam\nple.org", 0 }, { "example.org\r\n", 0 }, { "example\t.org", 0 },
        { "example.org\x7f", 0 }, { "exam\x1bple.org", 0 },
        { " example.org", 0 }, { "example.org ", 0 }, { "example .org", 0 },
        { "b\xc3\xbc" "cher.example", 0 },                     /* IDN as UTF-8        */
        { "example\xe3\x80\x82org", 0 },                       /* ideographic dot     */
        { "\xef\xbd\x85xample.org", 0 }, { "example.or\xe7", 0 }, /* wide e, Latin-1  */
        { "user@example.org", 0 }, { "[example.org]", 0 }, { "[::1]", 0 }, { "::1", 0 },
        { "example.org:443", 0 }, { "example.org/", 0 }, { "a%2eb", 0 }, { "a\\b", 0 },
        { "a,b", 0 }, { "*.example.org", 0 }, { "*", 0 }, { "a?b", 0 }, { "a#b", 0 },
        { "-a.example", 0 }, { "a-.example", 0 }, { "a.-", 0 }, { "example.org-", 0 },
        { LABEL_63 "x", 0 }, { LABEL_63 "x.example", 0 }, { NAME_253 "x", 0 }, { NAME_253 "x.", 0 },
        { "127.0.0.1", 0 }, { "127.0.0.1.", 0 }, { "127.1", 0 }, { "0177.0.0.1", 0 },
        { "0177.0.0.01", 0 }, { "2130706433", 0 }, { "017700000001", 0 }, { "0x7f000001", 0 },
        { "0X7F000001", 0 }, { "0x7f.1", 0 }, { "1.0x7f", 0 }, { "0x7f.0.0.0x1", 0 }, { "0x", 0 },
        { "a.0x", 0 }, { "0", 0 }, { "08", 0 }, { "example.1", 0 }, { "1.2.3.4.5", 0 },
        { "999.999.999.999", 0 }, { "99999999999999999999", 0 },
    };
    /* clang-format on */
    char name[HOSTNAME_SIZE] = "untouched";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (hostname_canonical(rows[i].text, rows[i].len ? rows[i].len : strlen(rows[i].text),
                               name))
            fail_msg("'%s' was taken for '%s'", rows[i].text, name);
        assert_string_equal(name, "untouched");
    }
}

static void no_byte_but_those_of_names_is_taken(void **state)
{
    char name[HOSTNAME_SIZE], text[] = "a?b.example";

    (void)state;
    for (int c = 0; c < 256; c++) {
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == '.';

        text[1] = (char)c;
        assert_int_equal(hostname_canonical(text, sizeof(text) - 1, name), good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_one_form),
        cmocka_unit_test(a_hostile_name_is_refused),
        cmocka_unit_test(no_byte_but_those_of_names_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
