#include "front/front_check.h"

#include <stdio.h>

#include "base/err.h"
#include "unit.h"

#define LINE "POST / HTTP/1.1\r\n"
#define CHUNKED LINE "Transfer-Encoding: chunked\r\n\r\n"

struct sample {
    const char *text;
    unsigned int status, heads;
};

/* Byte by byte and in one piece: both come to the same. */
static void check(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct front_check slow = { 0 }, fast = { 0 };
        size_t len = strlen(samples[i].text);

        for (size_t at = 0; at < len; at++)
            (void)front_check_feed(&slow, samples[i].text + at, 1);
        (void)front_check_feed(&fast, samples[i].text, len);
        if (slow.status != samples[i].status || fast.status != samples[i].status ||
            slow.heads != samples[i].heads || fast.heads != samples[i].heads)
            fail_msg("%u, %u heads: %s", slow.status, slow.heads, samples[i].text);
    }
}

static void what_has_one_reading_passes(void **state)
{
    static const struct sample samples[] = {
        { LINE "\r\n", 0, 1 },
        { "\r\n" LINE "\r\n\r\n" LINE "\r\n", 0, 2 },
        { LINE "content-length:\t 3 \r\n\r\nabc" LINE "\r\n", 0, 2 },
        { LINE "Content-Length: 3\r\n\r\na\r\n" LINE "\r\n", 0, 2 },
        { CHUNKED "3\r\na\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n" LINE "\r\n", 0, 2 },
        { CHUNKED "03\r\nabc\r\n", 0, 1 },
        { "GET /a?b&c HTTP/1.0\r\nA:\r\nB: c\td\xc3\xa4\r\n\r\n", 0, 1 },
        { "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x00 anything", 0, 1 },
    };

    (void)state;
    check(samples, ARRAY_LEN(samples));
}

static void what_has_two_readings_does_not(void **state)
{
    static const struct sample samples[] = {
        { LINE "Content-Length:\r\n 42\r\n\r\n", 400, 0 },
        { LINE "A: b\r\n\tc\r\n\r\n", 400, 0 },
        { LINE " A: b\r\n\r\n", 400, 0 },
        { LINE ": b\r\n\r\n", 400, 0 },
        { LINE "A : b\r\n\r\n", 400, 0 },
        { LINE "A\r\n\r\n", 400, 0 },
        { LINE "A: b\n\r\n", 400, 0 },
        { LINE "A: b\rc\r\n\r\n", 400, 0 },
        { LINE "A: b\r\r\n\r\n", 400, 0 },
        { LINE "A: \x01\r\n\r\n", 400, 0 },
        { LINE "\n", 400, 0 },
        { "POST / HTTP/1.1\n\n", 400, 0 },
        { "POST / HTTP/1.2\r\n\r\n", 400, 0 },
        { "POST / HTTP/1.11\r\n\r\n", 400, 0 },
        { "POST / http/1.1\r\n\r\n", 400, 0 },
        { "POST  / HTTP/1.1\r\n\r\n", 400, 0 },
        { "POST /  HTTP/1.1\r\n\r\n", 400, 0 },
        { "POST /\r\n\r\n", 400, 0 },
        { " POST / HTTP/1.1\r\n\r\n", 400, 0 },
        { LINE "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, 0 },
        { LINE "Content-Length: \r\n\r\n", 400, 0 },
        { LINE "Content-Length: 0x1\r\n\r\n", 400, 0 },
        { LINE "Content-Length: 1 1\r\n\r\n", 400, 0 },
        { LINE "Content-Length: 9999999999999999999\r\n\r\n", 400, 0 },
        { LINE "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 0 },
        { LINE "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400, 0 },
        { LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 0 },
        { LINE "Transfer-Encoding: gzip, chunked\r\n\r\n", 400, 0 },
        { LINE "Transfer-Encoding:\r\n\r\n", 400, 0 },
        { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 0 },
        { CHUNKED "3;a=b\r\nabc\r\n0\r\n\r\n", 400, 1 },
        { CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 400, 1 },
        { CHUNKED "3\nabc\r\n0\r\n\r\n", 400, 1 },
        { CHUNKED "-3\r\nabc\r\n0\r\n\r\n", 400, 1 },
        { CHUNKED "\r\n", 400, 1 },
        { CHUNKED "3\r\nabcd\r\n0\r\n\r\n", 400, 1 },
        { CHUNKED "100000000\r\n", 400, 1 },
        { CHUNKED "0\r\nContent-Length: 3\r\n\r\n", 400, 1 },
        { CHUNKED "0\r\n\n", 400, 1 },
    };

    (void)state;
    check(samples, ARRAY_LEN(samples));
}

static void requests_before_the_fault_are_passed_on(void **state)
{
    static const char good[] = LINE "Content-Length: 1\r\n\r\na" LINE "\r\n";
    struct front_check k = { 0 };
    char text[200];

    (void)state;
    snprintf(text, sizeof(text), "%s%s", good, LINE "A : b\r\n\r\n");
    assert_int_equal(front_check_feed(&k, text, strlen(text)), strlen(good));
    assert_int_equal(k.status, 400);
    assert_int_equal(front_check_feed(&k, good, strlen(good)), 0);
}

static void a_head_is_bounded_with_what_its_fields_cost(void **state)
{
    static const char *const parts[] = { "A: b\r\n", "A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct front_check k = { 0 };

        (void)front_check_feed(&k, LINE, strlen(LINE));
        for (size_t n = 0; n < FRONT_CHECK_HEAD_MAX / 10 && !k.status; n++)
            (void)front_check_feed(&k, parts[i], strlen(parts[i]));
        assert_int_equal(k.status, 431);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_one_reading_passes),
        cmocka_unit_test(what_has_two_readings_does_not),
        cmocka_unit_test(requests_before_the_fault_are_passed_on),
        cmocka_unit_test(a_head_is_bounded_with_what_its_fields_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
