/* Two real peers of nghttp2 with the streams joined between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "secrets/http2.h"
#include "unit.h"

#define VALUE "ghp_Zk3v9QpL7xWn2TbRyU"
#define PUT "ghp_Aa1b2CdE3fGh4IjKlM"
#define HOST "api.example.org"
#define FIELD(name, value)                                                                         \
    {                                                                                              \
        (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE   \
    }

/* What a peer has seen of all streams, as text: "name: value" lines, then the body. */
struct peer {
    nghttp2_session *session;
    struct buf heads, body;
    unsigned int ended, resets;
    uint32_t code;     /* of the newest reset */
    const char *reply; /* of the host, NULL: none */
    size_t reply_len, given;
    bool reads; /* gives the windows back */
    bool waits; /* with its last byte */
};

static struct rewrite_rules rules;
static struct rewrite rewrite;
static struct http2 *http2;
static struct peer program, host;
static unsigned int events[4];

static void tell(void *context, enum rewrite_event event, unsigned int which)
{
    (void)context;
    (void)which;
    events[event]++;
}

static ssize_t give(nghttp2_session *session, int32_t id, uint8_t *data, size_t size,
                    uint32_t *flags, nghttp2_data_source *source, void *context)
{
    static const nghttp2_nv trailers[] = { FIELD("grpc-status", "0"), FIELD("x-echo", VALUE) };
    struct peer *peer = context;
    size_t n = peer->reply_len - peer->given;

    (void)source;
    if (peer->waits && n == 1)
        return NGHTTP2_ERR_DEFERRED;
    n = peer->waits ? n - 1 : n;
    n = n < size ? n : size;
    n = n > 1000 ? 1000 + (peer->given % 7) : n; /* pieces that end anywhere */
    n = n < peer->reply_len - peer->given ? n : peer->reply_len - peer->given;
    memcpy(data, peer->reply + peer->given, n);
    peer->given += n;
    if (peer->given == peer->reply_len) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (peer == &host) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            assert_int_equal(nghttp2_submit_trailer(session, id, trailers, ARRAY_LEN(trailers)), 0);
        }
    }
    return (ssize_t)n;
}

static const nghttp2_data_provider body = { .read_callback = give };

static int on_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                    void *context)
{
    struct peer *peer = context;

    (void)session;
    (void)frame;
    (void)flags;
    buf_add(&peer->heads, name, name_len);
    buf_add_text(&peer->heads, ": ");
    buf_add(&peer->heads, value, value_len);
    buf_add_text(&peer->heads, "\n");
    return 0;
}

static int on_body(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *context)
{
    struct peer *peer = context;

    (void)flags;
    buf_add(&peer->body, data, len);
    if (peer->reads)
        assert_int_equal(nghttp2_session_consume(session, id, len), 0);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    static const nghttp2_nv head[] = { FIELD(":status", "200"), FIELD("x-key", VALUE) };
    struct peer *peer = context;

    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        peer->resets++;
        peer->code = frame->rst_stream.error_code;
    }
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    peer->ended++;
    if (peer == &host && peer->reply)
        assert_int_equal(nghttp2_submit_response(session, frame->hd.stream_id, head,
                                                 ARRAY_LEN(head), &body),
                         0);
    return 0;
}

static void open_peer(struct peer *peer, bool server)
{
    const nghttp2_settings_entry wide = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000 };
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;

    *peer = (struct peer){ .reads = true };
    buf_init(&peer->heads, 1 << 20);
    buf_init(&peer->body, 8 << 20);
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    assert_int_equal(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_body);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    assert_int_equal((server
                          ? nghttp2_session_server_new2
                          : nghttp2_session_client_new2)(&peer->session, callbacks, peer, option),
                     0);
    assert_int_equal(nghttp2_submit_settings(peer->session, NGHTTP2_FLAG_NONE, &wide, server), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
}

static int set_up(void **state)
{
    size_t len = strlen(VALUE);

    (void)state;
    rules = (struct rewrite_rules){ .name = HOST, .port = 443, .tls = true };
    assert_int_equal(mask_add(&rules.headers, PUT, VALUE, len, 0), 0);
    assert_int_equal(mask_add(&rules.query, PUT, VALUE, len, 0), 0);
    assert_int_equal(mask_add(&rules.body, PUT, VALUE, len, 0), 0);
    assert_int_equal(mask_add(&rules.watched, PUT, NULL, len, 0), 0);
    assert_int_equal(mask_add_forms(&rules.replies, VALUE, PUT, len, 0), 0);
    mask_prepare(&rules.headers);
    mask_prepare(&rules.query);
    mask_prepare(&rules.body);
    mask_prepare(&rules.watched);
    mask_prepare(&rules.replies);
    rewrite_init(&rewrite, &rules, tell, NULL);
    http2 = http2_new(&rewrite);
    assert_non_null(http2);
    open_peer(&program, false);
    open_peer(&host, true);
    memset(events, 0, sizeof(events));
    return 0;
}

static void close_peer(struct peer *peer)
{
    nghttp2_session_del(peer->session);
    buf_done(&peer->heads);
    buf_done(&peer->body);
}

static int tear_down(void **state)
{
    struct mask *const masks[] = { &rules.headers, &rules.query, &rules.body, &rules.watched,
                                   &rules.replies };

    (void)state;
    http2_free(http2);
    close_peer(&program);
    close_peer(&host);
    for (size_t i = 0; i < ARRAY_LEN(masks); i++)
        mask_done(masks[i]);
    rewrite_done(&rewrite);
    return 0;
}

/* Bytes of a peer, in pieces; false: what joins them has ended. */
static bool pass_on(struct peer *peer, enum http2_end end, bool *moved)
{
    const uint8_t *data;
    ssize_t n = nghttp2_session_mem_send(peer->session, &data);

    for (ssize_t at = 0; at < n; at += 501)
        if (!http2_feed(http2, end, (const char *)data + at, n - at < 501 ? (size_t)(n - at) : 501))
            return false;
    *moved |= n > 0;
    return true;
}

static bool pass_back(struct peer *peer, enum http2_end end, bool *moved)
{
    struct buf out;
    bool goes_on;

    buf_init(&out, 1 << 20);
    goes_on = http2_take(http2, end, &out);
    *moved |= out.len > 0;
    if (out.len)
        assert_true(nghttp2_session_mem_recv(peer->session, (uint8_t *)out.data, out.len) > 0);
    buf_done(&out);
    return goes_on;
}

/* Until nothing moves.  False: the connection is over. */
static bool run(void)
{
    bool moved = true, goes_on = true;

    while (moved && goes_on) {
        moved = false;
        goes_on = pass_on(&program, HTTP2_PROGRAM, &moved) &&
                  pass_back(&host, HTTP2_HOST, &moved) && pass_on(&host, HTTP2_HOST, &moved) &&
                  pass_back(&program, HTTP2_PROGRAM, &moved);
    }
    return goes_on;
}

static void ask(const char *authority, const char *path, bool with_body)
{
    const nghttp2_nv head[] = {
        FIELD(":method", with_body ? "POST" : "GET"),
        FIELD(":scheme", "https"),
        FIELD(":authority", authority),
        FIELD(":path", path),
        FIELD("authorization", "Bearer " PUT),
        FIELD("user-agent", PUT),
        FIELD("te", "trailers"),
        FIELD("accept-encoding", "gzip"),
    };

    assert_true(nghttp2_submit_request(program.session, NULL, head, ARRAY_LEN(head),
                                       with_body ? &body : NULL, NULL) > 0);
}

static bool has(const struct buf *text, const char *part)
{
    return text->len && memmem(text->data, text->len, part, strlen(part));
}

static void a_placeholder_in_a_credential_becomes_the_value(void **state)
{
    (void)state;
    ask(HOST, "/a?key=" PUT, false);
    assert_true(run());
    assert_true(has(&host.heads, "authorization: Bearer " VALUE "\n"));
    assert_true(has(&host.heads, ":path: /a?key=" VALUE "\n"));
    assert_true(has(&host.heads, "user-agent: " PUT "\n"));
    assert_true(has(&host.heads, "te: trailers\n"));
    assert_true(has(&host.heads, "accept-encoding: identity\n"));
    assert_false(has(&host.heads, "gzip"));
    assert_int_equal(events[REWRITE_PUT_IN], 2);
    assert_int_equal(events[REWRITE_LEFT], 1);
}

static void a_request_for_another_host_gets_nothing(void **state)
{
    const nghttp2_nv two[] = {
        FIELD(":method", "GET"),       FIELD(":scheme", "https"),
        FIELD(":authority", HOST),     FIELD(":path", "/"),
        FIELD("host", "evil.example"), FIELD("authorization", "Bearer " PUT),
    };

    (void)state;
    ask("evil.example", "/", false);
    assert_true(nghttp2_submit_request(program.session, NULL, two, ARRAY_LEN(two), NULL, NULL) > 0);
    assert_true(run());
    assert_int_equal(host.ended, 2);
    assert_false(has(&host.heads, VALUE));
    assert_true(events[REWRITE_OTHER_HOST] >= 2);
}

static void an_echo_is_masked(void **state)
{
    char text[20000];
    size_t at = 0;

    (void)state;
    while (at + 100 < sizeof(text))
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%zu " VALUE " ", at);
    host.reply = text;
    host.reply_len = at;
    ask(HOST, "/", false);
    assert_true(run());
    assert_int_equal(program.ended, 1);
    assert_int_equal(program.body.len, at);
    assert_false(has(&program.body, VALUE));
    assert_true(has(&program.body, PUT));
    assert_false(has(&program.heads, VALUE));
    assert_true(has(&program.heads, "x-key: " PUT "\n"));
    assert_true(has(&program.heads, "grpc-status: 0\n"));
    assert_true(has(&program.heads, "x-echo: " PUT "\n"));
}

static void a_large_body_passes_both_ways_and_has_the_value(void **state)
{
    size_t len = 3 << 20;
    char *text = malloc(len);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text + len / 2, PUT, strlen(PUT));
    program.reply = host.reply = text;
    program.reply_len = host.reply_len = len;
    ask(HOST, "/", true);
    assert_true(run());
    assert_int_equal(host.body.len, len);
    assert_int_equal(program.body.len, len);
    assert_true(has(&host.body, VALUE));
    assert_int_equal(program.ended, 1);
    assert_int_equal(http2->n_streams, 0);
    free(text);
}

/* The reader's window is 64 KiB; what waits is no more than the windows given to the writer. */
static void a_slow_reader_stops_its_writer(void **state)
{
    size_t len = 4 << 20;
    char *text = calloc(1, len);

    (void)state;
    assert_non_null(text);
    host.reply = text;
    host.reply_len = len;
    program.reads = false;
    ask(HOST, "/", false);
    assert_true(run());
    assert_int_equal(program.body.len, 65535);
    assert_true(host.given < (1 << 20));
    for (size_t read = 0; program.body.len < len; read += 40000) { /* never all that is there */
        assert_int_equal(nghttp2_session_consume(program.session, 1, 40000), 0);
        assert_true(run());
        assert_true(program.body.len > read);
    }
    assert_int_equal(program.body.len, len);
    free(text);
}

/* What looks like the beginning of a value is held while the stream goes on, and can be given out. */
static void what_is_held_is_given_out_on_demand(void **state)
{
    const nghttp2_nv head[] = { FIELD(":status", "200") };

    (void)state;
    ask(HOST, "/", false);
    assert_true(run());
    host.reply = "yes, g";
    host.reply_len = 7; /* it waits for one more byte */
    host.waits = true;
    assert_int_equal(nghttp2_submit_response(host.session, 1, head, ARRAY_LEN(head), &body), 0);
    assert_true(run());
    assert_true(has(&program.body, "yes, "));
    assert_false(has(&program.body, "yes, g"));
    assert_int_equal(http2_held(http2, HTTP2_PROGRAM), 1);
    http2_release(http2, HTTP2_PROGRAM);
    assert_true(run());
    assert_true(has(&program.body, "yes, g"));
    assert_int_equal(http2_held(http2, HTTP2_PROGRAM), 0);
}

static void a_tunnel_through_the_host_is_refused(void **state)
{
    const nghttp2_nv head[] = { FIELD(":method", "CONNECT"), FIELD(":authority", HOST) };

    (void)state;
    assert_true(nghttp2_submit_request(program.session, NULL, head, ARRAY_LEN(head), &body, NULL) >
                0);
    program.reply = "x";
    program.reply_len = 1;
    assert_true(run());
    assert_int_equal(program.resets, 1);
    assert_false(has(&host.heads, "CONNECT"));
    assert_int_equal(http2->n_streams, 0);
}

/* Compressed it is 4 KB: all but the first of its fields stand in the table. */
static void a_head_that_is_too_long_is_refused(void **state)
{
    char text[3001];
    nghttp2_nv head[64] = {
        FIELD(":method", "GET"),
        FIELD(":scheme", "https"),
        FIELD(":authority", HOST),
        FIELD(":path", "/"),
    };

    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 4; i < ARRAY_LEN(head); i++)
        head[i] = (nghttp2_nv)FIELD("x-a", text);
    assert_true(nghttp2_submit_request(program.session, NULL, head, ARRAY_LEN(head), NULL, NULL) >
                0);
    assert_true(run());
    assert_int_equal(program.resets, 1);
    assert_int_equal(host.ended, 0);
    assert_int_equal(http2->n_streams, 0);
}

static void streams_that_are_reset_at_once_end_the_connection(void **state)
{
    bool goes_on = true;

    (void)state;
    assert_true(run());
    for (unsigned int i = 0; goes_on && i < 5000; i++) {
        ask(HOST, "/", false);
        goes_on = run();
        if (nghttp2_submit_rst_stream(program.session, NGHTTP2_FLAG_NONE, (int32_t)(2 * i + 1),
                                      NGHTTP2_CANCEL) == 0 &&
            goes_on)
            goes_on = run();
        assert_true(http2->n_streams <= 2 * HTTP2_MAX_STREAMS);
    }
    assert_false(goes_on);
}

/* A head without an end: frames of 9 bytes, none of them the last. */
static void a_flood_of_continuations_ends_the_connection(void **state)
{
    static const char begin[] = "\0\0\1\1\0\0\0\0\1\x82", more[] = "\0\0\0\x9\0\0\0\0\1";
    bool goes_on;

    (void)state;
    assert_true(run());
    goes_on = http2_feed(http2, HTTP2_PROGRAM, begin, sizeof(begin) - 1);
    for (unsigned int i = 0; goes_on && i < 100; i++) {
        goes_on = http2_feed(http2, HTTP2_PROGRAM, more, sizeof(more) - 1);
        if (goes_on)
            goes_on = run();
    }
    assert_false(goes_on);
}

static void a_flood_of_pings_ends_the_connection(void **state)
{
    static const char ping[] = "\0\0\x8\x6\0\0\0\0\0"
                               "01234567";
    bool goes_on = true;

    (void)state;
    assert_true(run());
    for (unsigned int i = 0; goes_on && i < 5000; i++)
        goes_on = http2_feed(http2, HTTP2_PROGRAM, ping, sizeof(ping) - 1);
    assert_false(goes_on);
}

static void more_streams_than_agreed_are_refused(void **state)
{
    (void)state;
    assert_true(run());
    for (unsigned int i = 0; i < 3 * HTTP2_MAX_STREAMS; i++)
        ask(HOST, "/", false);
    assert_true(run());
    assert_int_equal(http2->n_streams, HTTP2_MAX_STREAMS);
}

static void a_host_that_leaves_takes_no_more_requests(void **state)
{
    (void)state;
    ask(HOST, "/first", false);
    assert_true(run());
    assert_int_equal(nghttp2_submit_goaway(host.session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_NO_ERROR,
                                           NULL, 0),
                     0);
    (void)run();
    ask(HOST, "/second", false);
    (void)run();
    assert_false(has(&host.heads, "/second"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_placeholder_in_a_credential_becomes_the_value),
        TEST(a_request_for_another_host_gets_nothing),
        TEST(an_echo_is_masked),
        TEST(a_large_body_passes_both_ways_and_has_the_value),
        TEST(a_slow_reader_stops_its_writer),
        TEST(what_is_held_is_given_out_on_demand),
        TEST(a_tunnel_through_the_host_is_refused),
        TEST(a_head_that_is_too_long_is_refused),
        TEST(streams_that_are_reset_at_once_end_the_connection),
        TEST(a_flood_of_continuations_ends_the_connection),
        TEST(a_flood_of_pings_ends_the_connection),
        TEST(more_streams_than_agreed_are_refused),
        TEST(a_host_that_leaves_takes_no_more_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
