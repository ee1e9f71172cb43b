/* The text of a result whose long streams become JSON as it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/response_text.h"
#include "model/result.h"

#define LONG (JSONW_LONG_MIN + 1)

/* Bytes of every kind that a stream may have: what needs no escape, two bytes, six bytes. */
static char *stream_of(const char *pattern, size_t pattern_len, size_t len)
{
    char *data = malloc(len);

    for (size_t i = 0; data && i < len; i++)
        data[i] = pattern[i % pattern_len];
    return data;
}

static sbr_result *result_of(const char *pattern, size_t pattern_len, size_t len)
{
    sbr_result *result = calloc(1, sizeof(*result));

    assert_non_null(result);
    result->startup = "cold";
    result->exit_code = -1;
    result->out = (struct output){ .data = stream_of(pattern, pattern_len, len),
                                   .len = len,
                                   .tail = stream_of(pattern, pattern_len, LONG),
                                   .tail_len = LONG,
                                   .total = len + 2 * LONG };
    result->err = (struct output){ .data = strdup("short"), .len = 5, .total = 5 };
    return result;
}

static char *read_in_pieces(const struct response_text *text, size_t piece)
{
    struct response_place place = { 0 };
    char *all = malloc(text->len + piece + 1);
    size_t at = 0, n;

    assert_non_null(all);
    while ((n = response_text_read(text, &place, all + at, piece)) > 0) {
        assert_true(n <= piece);
        at += n;
        assert_true(at <= text->len);
        assert_int_equal(place.done, at);
    }
    assert_int_equal(at, text->len);
    all[at] = '\0';
    return all;
}

static void free_result(void *result)
{
    result_free(result);
}

static void check(const char *pattern, size_t pattern_len)
{
    static const size_t pieces[] = { RESPONSE_TEXT_ROOM, 11, 64, 1000, 32768, 1 << 20 };
    sbr_result *result = result_of(pattern, pattern_len, LONG + 12345);
    struct jsonw_apart apart = { .mark = "0123456789abcdef0123456789abcdef" };
    char *whole = result_to_json(result), *copy;
    struct response_text *text =
        response_text_of_apart(result_to_json_apart(result, &apart), &apart, result, free_result);

    assert_non_null(text);
    assert_int_equal(apart.n, 2);
    assert_null(text->bytes);
    assert_int_equal(text->len, strlen(whole));
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        char *read = read_in_pieces(text, pieces[i]);

        assert_string_equal(read, whole);
        free(read);
    }
    copy = calloc(1, text->len + RESPONSE_TEXT_ROOM);
    assert_non_null(copy);
    response_text_copy(text, copy);
    assert_string_equal(copy, whole);
    free(copy);
    free(whole);
    response_text_drop(text);
}

static void reads_as_if_it_were_whole(void **state)
{
    (void)state;
    check("plain text\n", 11);
    check("\"quoted\\\"\t\x7f and \xc3\xa4 ", 19);
    check("a\x01\xff", 3); /* base64 */
    check("\x01", 1);
    check("x", 1);
}

static void short_streams_stand_in_the_text(void **state)
{
    sbr_result result = { .startup = "cold",
                          .out = { .data = (char *)"one", .len = 3, .total = 3 } };
    struct jsonw_apart apart = { .mark = "0123456789abcdef0123456789abcdef" };
    char *whole = result_to_json(&result), *skeleton = result_to_json_apart(&result, &apart);

    (void)state;
    assert_int_equal(apart.n, 0);
    assert_string_equal(skeleton, whole);
    free(whole);
    free(skeleton);
}

static void plain_bytes_are_read_in_pieces(void **state)
{
    struct response_text *text = response_text_of(strdup("{\"results\":[]}"));
    char *read = read_in_pieces(text, RESPONSE_TEXT_ROOM);

    (void)state;
    assert_string_equal(read, "{\"results\":[]}");
    free(read);
    response_text_drop(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_as_if_it_were_whole),
        cmocka_unit_test(short_streams_stand_in_the_text),
        cmocka_unit_test(plain_bytes_are_read_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
