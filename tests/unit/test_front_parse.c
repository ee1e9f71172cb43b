#include "front/front_parse.h"

#include "base/err.h"
#include "base/fields.h"
#include "unit.h"
#include "wire/front.h"

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"

struct sample {
    const char *text;
    size_t len;
    enum front_parsed expected;
};

#define SAMPLE(text, expected)                                                                     \
    {                                                                                              \
        text, sizeof(text) - 1, expected                                                           \
    }

static void check(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t head = 0, body = 0;
        struct buf fields;

        buf_init(&fields, 65536);
        if (front_parse(samples[i].text, samples[i].len, &fields, &head, &body) !=
            samples[i].expected)
            fail_msg("otherwise: %s", samples[i].text);
        buf_done(&fields);
    }
}

static void what_reads_in_one_way_is_taken(void **state)
{
    static const struct sample samples[] = {
        SAMPLE(LINE HOST "\r\n", FRONT_PARSED_WHOLE),
        SAMPLE(LINE HOST "\r\nGET ", FRONT_PARSED_WHOLE),
        SAMPLE(LINE "host:h\r\nConnection: Keep-Alive\r\n\r\n", FRONT_PARSED_WHOLE),
        SAMPLE(LINE HOST "A:\r\nB: \t x y\t \r\nA: \xc3\xa4\r\n\r\n", FRONT_PARSED_WHOLE),
        SAMPLE("POST /a?b HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", FRONT_PARSED_WHOLE),
        SAMPLE("POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", FRONT_PARSED_WHOLE),
        SAMPLE("PUT / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\na\0c", FRONT_PARSED_WHOLE),
    };

    (void)state;
    check(samples, ARRAY_LEN(samples));
}

static void every_beginning_of_it_waits_for_more(void **state)
{
    static const char whole[] = "POST /a?b=c HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc";

    (void)state;
    for (size_t len = 0; len + 1 < sizeof(whole); len++)
        check(&(struct sample){ whole, len, FRONT_PARSED_MORE }, 1);
}

static void what_could_be_read_otherwise_is_left(void **state)
{
    static const struct sample samples[] = {
        SAMPLE("GET / HTTP/1.0\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("GET /#a HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("GET http://h/ HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("GET /?a=1&&b HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("GET /?=1 HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("get / HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("HEAD / HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE("\r\n\r\n", FRONT_PARSED_ODD),
        SAMPLE("\r\n" LINE HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE "\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST HOST "\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST "Expect: 100-continue\r\n\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST "transfer-encoding: chunked\r\n\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST "Upgrade: websocket\r\n\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST "Connection: close\r\n\r\n", FRONT_PARSED_ODD),
        SAMPLE(LINE HOST "Content-Length: 4097\r\n\r\n", FRONT_PARSED_ODD),
    };

    (void)state;
    check(samples, ARRAY_LEN(samples));
}

static void a_second_way_to_read_the_head_is_reported_as_soon_as_it_is_there(void **state)
{
    static const struct sample samples[] = {
        SAMPLE(LINE HOST "A: b\0c\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "A\0: b", FRONT_PARSED_BAD),
        SAMPLE("GET /\0", FRONT_PARSED_BAD),
        SAMPLE("GET  / HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_BAD),
        SAMPLE("GET /a b HTTP/1.1\r\n" HOST "\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "no colon\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "A : b\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST ": b\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST " folded\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "A: b\rc\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "A: b\nC: d\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "A: \x01\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE("GET / HTTP/1.1\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "Content-Length: \r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "Content-Length: +1\r\n\r\na", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "Content-Length: 1, 1\r\n\r\na", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "Content-Length: 18446744073709551617\r\n\r\n", FRONT_PARSED_BAD),
        SAMPLE(LINE HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", FRONT_PARSED_BAD),
    };

    (void)state;
    check(samples, ARRAY_LEN(samples));
}

static void expect_field(const char **at, const char *end, char kind, const char *name,
                         const char *value)
{
    struct field field;

    assert_true(fields_next(at, end, &field));
    assert_int_equal(field.kind, kind);
    assert_string_equal(field.name, name);
    assert_string_equal(field.value, value);
}

static void fields_have_what_was_sent(void **state)
{
    static const char text[] = "PATCH /a%2Fb?x=1+2&y=&flag HTTP/1.1\r\nHost:  h \r\n"
                               "Content-Length: 2\r\n\r\nabc";
    size_t head = 0, body = 0;
    const char *at, *end;
    struct buf fields;

    (void)state;
    buf_init(&fields, 65536);
    assert_int_equal(front_parse(text, sizeof(text) - 1, &fields, &head, &body),
                     FRONT_PARSED_WHOLE);
    assert_int_equal(head, sizeof(text) - 1 - strlen("abc"));
    assert_int_equal(body, 2);
    at = fields.data;
    end = fields.data + fields.len;
    expect_field(&at, end, FRONT_FIELD_METHOD, "", "PATCH");
    expect_field(&at, end, FRONT_FIELD_PATH, "", "/a%2Fb");
    expect_field(&at, end, FRONT_FIELD_HEADER, "Host", "h");
    expect_field(&at, end, FRONT_FIELD_HEADER, "Content-Length", "2");
    expect_field(&at, end, FRONT_FIELD_QUERY, "x", "1 2");
    expect_field(&at, end, FRONT_FIELD_QUERY, "y", "");
    expect_field(&at, end, FRONT_FIELD_FLAG, "flag", "");
    assert_ptr_equal(at, end);
    buf_done(&fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reads_in_one_way_is_taken),
        cmocka_unit_test(every_beginning_of_it_waits_for_more),
        cmocka_unit_test(what_could_be_read_otherwise_is_left),
        cmocka_unit_test(a_second_way_to_read_the_head_is_reported_as_soon_as_it_is_there),
        cmocka_unit_test(fields_have_what_was_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
