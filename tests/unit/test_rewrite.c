#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "secrets/rewrite.h"
#include "unit.h"

#define VALUE "ghp_Zk3v9QpL7xWn2TbRyU"
#define PUT "ghp_Aa1b2CdE3fGh4IjKlM"
#define HOST "Host: api.example.org\r\n"
#define END "Accept-Encoding: identity\r\n\r\n"

static struct rewrite_rules rules;
static struct rewrite rewrite;
static struct buf out, in;
static unsigned int events[4];
static const struct http_added added[] = { { "Authorization", "Bearer the-added-token", 1 } };

static void tell(void *context, enum rewrite_event event, unsigned int which)
{
    (void)context;
    (void)which;
    events[event]++;
}

static int set_up(void **state)
{
    size_t len = strlen(VALUE);

    (void)state;
    rules = (struct rewrite_rules){ .name = "api.example.org", .port = 443, .tls = true };
    assert_int_equal(mask_add(&rules.headers, PUT, VALUE, len, 0), 0);
    assert_int_equal(mask_add(&rules.query, PUT, VALUE, len, 0), 0);
    assert_int_equal(mask_add(&rules.watched, PUT, NULL, len, 0), 0);
    assert_int_equal(mask_add_forms(&rules.replies, VALUE, PUT, len, 0), 0);
    mask_prepare(&rules.headers);
    mask_prepare(&rules.query);
    mask_prepare(&rules.watched);
    mask_prepare(&rules.replies);
    rewrite_init(&rewrite, &rules, tell, NULL);
    buf_init(&out, 1 << 20);
    buf_init(&in, 1 << 20);
    memset(events, 0, sizeof(events));
    return 0;
}

static int tear_down(void **state)
{
    struct mask *const masks[] = { &rules.headers, &rules.query, &rules.body, &rules.watched,
                                   &rules.replies };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(masks); i++)
        mask_done(masks[i]);
    rewrite_done(&rewrite);
    buf_done(&out);
    buf_done(&in);
    return 0;
}

/* In parts of `size` bytes. */
static bool send_all(const char *text, size_t size)
{
    for (size_t at = 0, len = strlen(text); at < len; at += size)
        if (!rewrite_out(&rewrite, text + at, len - at < size ? len - at : size, &out))
            return false;
    return true;
}

static bool receive_all(const char *text, size_t size)
{
    for (size_t at = 0, len = strlen(text); at < len; at += size)
        if (!rewrite_in(&rewrite, text + at, len - at < size ? len - at : size, &in))
            return false;
    return true;
}

static void restart(void)
{
    rewrite_done(&rewrite);
    rewrite_init(&rewrite, &rules, tell, NULL);
    out.len = in.len = 0;
}

static void assert_request(const char *text, const char *wanted)
{
    for (size_t size = 1; size <= strlen(text); size += 7) {
        restart();
        assert_true(send_all(text, size));
        assert_string_equal(out.data, wanted);
    }
}

static void a_placeholder_in_a_credential_becomes_the_value(void **state)
{
    (void)state;
    assert_request("GET / HTTP/1.1\r\n" HOST "Authorization: Bearer " PUT "\r\n\r\n",
                   "GET / HTTP/1.1\r\n" HOST "Authorization: Bearer " VALUE "\r\n" END);
    assert_request("GET / HTTP/1.1\r\n" HOST "X-Api-Key:" PUT "\r\n\r\n",
                   "GET / HTTP/1.1\r\n" HOST "X-Api-Key: " VALUE "\r\n" END);
    assert_true(events[REWRITE_PUT_IN] > 0);
    assert_int_equal(events[REWRITE_LEFT], 0);
}

static void it_does_so_inside_basic_credentials(void **state)
{
    char *before = encoding_to_base64("me:" PUT, strlen("me:" PUT));
    char *after = encoding_to_base64("me:" VALUE, strlen("me:" VALUE));
    char text[300], wanted[300];

    (void)state;
    snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "Authorization: Basic %s\r\n\r\n",
             before);
    snprintf(wanted, sizeof(wanted), "GET / HTTP/1.1\r\n" HOST "Authorization: Basic %s\r\n" END,
             after);
    assert_request(text, wanted);
    free(before);
    free(after);
}

static void in_other_places_it_stays_and_is_told_of(void **state)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\n" HOST "User-Agent: " PUT "\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Sec-WebSocket-Key: " PUT "\r\n\r\n",
        "GET /" PUT " HTTP/1.1\r\n" HOST "\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 22\r\n\r\n" PUT,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        restart();
        memset(events, 0, sizeof(events));
        assert_true(send_all(texts[i], 9));
        assert_null(strstr(out.data, VALUE));
        assert_int_equal(events[REWRITE_LEFT], 1);
        assert_int_equal(events[REWRITE_PUT_IN], 0);
    }
}

static void a_request_for_another_host_gets_nothing(void **state)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: evil.example.org\r\nAuthorization: " PUT "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: api.example.org:444\r\nAuthorization: " PUT "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: api.example.org.\r\nAuthorization: " PUT "\r\n\r\n",
        "GET / HTTP/1.1\r\nAuthorization: " PUT "\r\n\r\n",
        "GET https://evil.example.org/ HTTP/1.1\r\n" HOST "Authorization: " PUT "\r\n\r\n",
        "GET http://api.example.org/ HTTP/1.1\r\n" HOST "Authorization: " PUT "\r\n\r\n",
        "GET https://api.example.org@evil/ HTTP/1.1\r\n" HOST "Authorization: " PUT "\r\n\r\n",
        "GET evil HTTP/1.1\r\n" HOST "Authorization: " PUT "\r\n\r\n",
    };

    (void)state;
    rules.added = added;
    rules.n_added = 1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        restart();
        memset(events, 0, sizeof(events));
        assert_true(send_all(texts[i], 1000));
        assert_null(strstr(out.data, VALUE));
        assert_null(strstr(out.data, "the-added-token"));
        assert_int_equal(events[REWRITE_OTHER_HOST], 1);
    }
}

static void what_two_readers_could_read_differently_is_refused(void **state)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\n" HOST "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "A: b\nC: d\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "A: \rb\r\n\r\n",
        "GET /  HTTP/1.1\r\n" HOST "\r\n",
        "GET / HTTP/2.0\r\n" HOST "\r\n",
        "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nx\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1234567890123456\r\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        restart();
        if (send_all(texts[i], 1000))
            fail_msg("this was passed on: %s", texts[i]);
    }
}

static void a_body_in_chunks_ends_where_it_ends(void **state)
{
    (void)state;
    assert_true(send_all("POST /b HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                         "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\nGET /c HTTP/1.1\r\n" HOST "Token: " PUT
                         "\r\n\r\n",
                         1000));
    assert_string_equal(out.data, "POST /b HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" END
                                  "3\r\nabc\r\n0\r\nA: b\r\n\r\nGET /c HTTP/1.1\r\n" HOST
                                  "Token: " VALUE "\r\n" END);
}

static void the_query_is_replaced_by_choice(void **state)
{
    (void)state;
    assert_request("GET /" PUT "?key=" PUT " HTTP/1.1\r\n" HOST "\r\n",
                   "GET /" PUT "?key=" VALUE " HTTP/1.1\r\n" HOST END);
}

static void an_added_header_takes_the_place_of_the_programs(void **state)
{
    (void)state;
    rules.added = added;
    rules.n_added = 1;
    assert_request("GET / HTTP/1.1\r\n" HOST "authorization: mine\r\n\r\n",
                   "GET / HTTP/1.1\r\n" HOST
                   "Accept-Encoding: identity\r\nAuthorization: Bearer the-added-token\r\n\r\n");
}

static void a_reply_without_the_value_is_as_it_was(void **state)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
                                "HTTP/1.1 204 No\r\n\r\n"
                                "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not\r\n\r\n"
                                "HTTP/1.0 200 OK\r\n\r\nuntil the end";

    (void)state;
    for (size_t size = 1; size < sizeof(reply); size += 5) {
        restart();
        assert_true(send_all("GET / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST
                             "\r\nHEAD / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST
                             "\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
                             1000));
        assert_true(receive_all(reply, size));
        assert_true(rewrite_in(&rewrite, "", 0, &in));
        assert_string_equal(in.data, reply);
    }
}

static void an_echo_is_masked(void **state)
{
    static const char reply[] =
        "HTTP/1.1 200 " VALUE "\r\nX: " VALUE "\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\n<ghp_\r\n9\r\nZk3v9QpL7\r\na\r\nxWn2TbRyU>\r\n0\r\nT: " VALUE "\r\n\r\n";

    (void)state;
    for (size_t size = 1; size < sizeof(reply); size++) {
        char body[200] = "";

        restart();
        assert_true(send_all("GET / HTTP/1.1\r\n" HOST "\r\n", 1000));
        assert_true(receive_all(reply, size));
        assert_null(strstr(in.data, "3v9QpL7"));
        assert_null(strstr(in.data, "xWn2Tb"));
        for (const char *at = strstr(in.data, "\r\n\r\n") + 4; strtoul(at, NULL, 16);) {
            size_t n = strtoul(at, NULL, 16);

            at = strstr(at, "\r\n") + 2;
            strncat(body, at, n);
            at += n + 2;
        }
        assert_string_equal(body, "<" PUT ">");
        assert_non_null(strstr(in.data, "200 " PUT "\r\nX: " PUT));
        assert_non_null(strstr(in.data, "T: " PUT));
    }
}

static void a_reply_that_nobody_asked_for_ends_the_connection(void **state)
{
    (void)state;
    assert_false(receive_all("HTTP/1.1 200 OK\r\n\r\n", 1000));
    restart();
    assert_true(send_all("GET / HTTP/1.1\r\n" HOST "\r\n", 1000));
    assert_false(receive_all("HTTP/1.1 101 Switching\r\n\r\n", 1000));
    restart();
    assert_true(send_all("GET / HTTP/1.1\r\n" HOST "\r\n", 1000));
    assert_false(receive_all("HTTP/1.1 200 OK\nA: b\n\n\r\n\r\n", 1000));
}

static void another_protocol_passes_and_is_masked(void **state)
{
    (void)state;
    assert_true(send_all("GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n", 1000));
    assert_true(receive_all("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x16", 1000));
    in.len = out.len = 0;
    assert_true(send_all("\x01\x02\r\n\x03", 1));
    assert_memory_equal(out.data, "\x01\x02\r\n\x03", 5);
    assert_true(receive_all("a" VALUE "b", 3));
    assert_string_equal(in.data, "a" PUT "b");
}

static void what_is_given_out_early_is_still_part_of_a_text(void **state)
{
    (void)state;
    assert_true(send_all("GET / HTTP/1.1\r\n" HOST "\r\n", 1000));
    assert_true(receive_all("HTTP/1.0 200 OK\r\n\r\n", 1000));
    in.len = 0;
    assert_true(receive_all("yes, g", 1000));
    assert_string_equal(in.data, "yes, ");
    assert_int_equal(http_stream_held(&rewrite.in), 1);
    http_stream_release(&rewrite.in, &in);
    assert_string_equal(in.data, "yes, g");
    assert_true(receive_all(&VALUE "!"[1], 1000));
    assert_string_equal(in.data, "yes, " PUT "!");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_placeholder_in_a_credential_becomes_the_value),
        TEST(it_does_so_inside_basic_credentials),
        TEST(in_other_places_it_stays_and_is_told_of),
        TEST(a_request_for_another_host_gets_nothing),
        TEST(what_two_readers_could_read_differently_is_refused),
        TEST(a_body_in_chunks_ends_where_it_ends),
        TEST(the_query_is_replaced_by_choice),
        TEST(an_added_header_takes_the_place_of_the_programs),
        TEST(a_reply_without_the_value_is_as_it_was),
        TEST(an_echo_is_masked),
        TEST(a_reply_that_nobody_asked_for_ends_the_connection),
        TEST(another_protocol_passes_and_is_masked),
        TEST(what_is_given_out_early_is_still_part_of_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
