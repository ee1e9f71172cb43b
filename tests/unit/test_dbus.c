/* D-Bus messages, byte by byte. */
#include "sandbox/dbus.h"

#include <stdlib.h>

#include "unit.h"

/* A signal JobRemoved(uoss) of path /a: what systemd sends, shortened. */
/* clang-format off */
static const unsigned char job_removed[] = {
    'l', 4, 1, 1,  33, 0, 0, 0,  7, 0, 0, 0,  58, 0, 0, 0,
    1, 1, 'o', 0,  2, 0, 0, 0,  '/', 'a', 0, 0, 0, 0, 0, 0,
    2, 1, 's', 0,  1, 0, 0, 0,  'i', 0, 0, 0, 0, 0, 0, 0,
    3, 1, 's', 0,  1, 0, 0, 0,  'm', 0, 0, 0, 0, 0, 0, 0,
    8, 1, 'g', 0,  4, 'u', 'o', 's', 's', 0, 0, 0, 0, 0, 0, 0,
    9, 0, 0, 0,  2, 0, 0, 0, '/', 'j', 0, 0,  7, 0, 0, 0, 'x', '.', 's', 'c', 'o', 'p', 'e', 0,
    4, 0, 0, 0, 'd', 'o', 'n', 'e', 0,
};
/* clang-format on */
enum { OPENING_FIELDS = 12, PATH_LENGTH = 20, PADDING = 27, SIGNATURE_TYPE = 66, BODY = 80 };

static struct buf bytes;

static int open_bytes(void **state)
{
    (void)state;
    buf_init(&bytes, 4096);
    return 0;
}

static int close_bytes(void **state)
{
    (void)state;
    buf_done(&bytes);
    return 0;
}

static void a_call_has_the_bytes_that_the_rules_want(void **state)
{
    /* clang-format off */
    static const unsigned char expected[] = {
        'l', 1, 1, 1,  6, 0, 0, 0,  3, 0, 0, 0,  55, 0, 0, 0,
        1, 1, 'o', 0,  2, 0, 0, 0,  '/', 'a', 0, 0, 0, 0, 0, 0,
        3, 1, 's', 0,  5, 0, 0, 0,  'H', 'e', 'l', 'l', 'o', 0, 0, 0,
        6, 1, 's', 0,  3, 0, 0, 0,  'b', 'u', 's', 0, 0, 0, 0, 0,
        8, 1, 'g', 0,  1, 's', 0, 0,
        1, 0, 0, 0, 'x', 0,
    };
    /* clang-format on */
    struct dbus_message call = { .type = DBUS_CALL,
                                 .no_reply = true,
                                 .serial = 3,
                                 .path = "/a",
                                 .member = "Hello",
                                 .destination = "bus",
                                 .signature = "s" };
    struct buf body;

    (void)state;
    buf_init(&body, 64);
    dbus_put_string(&body, "x");
    call.body = body.data;
    call.body_len = body.len;
    dbus_encode(&bytes, &call);
    assert_false(bytes.failed);
    assert_int_equal(bytes.len, sizeof(expected));
    assert_memory_equal(bytes.data, expected, sizeof(expected));
    buf_done(&body);
}

static void arrays_count_their_elements_and_not_the_padding_before_them(void **state)
{
    static const unsigned char expected[] = { 1, 0, 0, 0, 'x', 0, 0, 0, 4, 0, 0, 0, 0, 0,
                                              0, 0, 9, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0 };
    struct dbus_array array;

    (void)state;
    dbus_put_string(&bytes, "x");
    array = dbus_open_array(&bytes, 8);
    dbus_put_u32(&bytes, 9);
    dbus_close_array(&bytes, array);
    array = dbus_open_array(&bytes, 4);
    dbus_close_array(&bytes, array);
    dbus_put_u32(&bytes, 0);
    assert_int_equal(bytes.len, sizeof(expected));
    assert_memory_equal(bytes.data, expected, sizeof(expected));
}

static void what_does_not_fit_is_said(void **state)
{
    struct dbus_message call = { .type = DBUS_CALL, .serial = 1, .path = "/a", .member = "m" };
    struct buf small;

    (void)state;
    buf_init(&small, 20);
    dbus_encode(&small, &call);
    assert_true(small.failed);
    buf_done(&small);
}

static void a_signal_is_read(void **state)
{
    struct dbus_message m;
    struct buf_reader body;

    (void)state;
    assert_int_equal(dbus_length(job_removed), sizeof(job_removed));
    assert_int_equal(dbus_decode(job_removed, sizeof(job_removed), &m), 0);
    assert_int_equal(m.type, DBUS_SIGNAL);
    assert_int_equal(m.serial, 7);
    assert_string_equal(m.path, "/a");
    assert_string_equal(m.interface, "i");
    assert_string_equal(m.member, "m");
    assert_string_equal(m.signature, "uoss");
    assert_null(m.error);
    assert_null(m.sender);
    body = (struct buf_reader){ .data = m.body, .len = m.body_len };
    assert_int_equal(dbus_get_u32(&body), 9);
    assert_string_equal(dbus_get_string(&body), "/j");
    assert_string_equal(dbus_get_string(&body), "x.scope");
    assert_string_equal(dbus_get_string(&body), "done");
    assert_false(body.failed);
    assert_null(dbus_get_string(&body));
    assert_true(body.failed);
}

static void what_was_written_is_read_again(void **state)
{
    struct dbus_message error = {
        .type = DBUS_ERROR, .serial = 5, .reply_to = 4, .error = "org.example.No", .sender = ":1.7"
    };
    struct dbus_message m;

    (void)state;
    dbus_encode(&bytes, &error);
    assert_int_equal(dbus_decode(bytes.data, bytes.len, &m), 0);
    assert_int_equal(m.type, DBUS_ERROR);
    assert_int_equal(m.reply_to, 4);
    assert_string_equal(m.error, "org.example.No");
    assert_string_equal(m.sender, ":1.7");
    assert_int_equal(m.body_len, 0);
}

/* The signal with one byte changed. */
static int decode_with(size_t at, unsigned char value)
{
    unsigned char changed[sizeof(job_removed)];
    struct dbus_message m;

    memcpy(changed, job_removed, sizeof(changed));
    changed[at] = value;
    return dbus_decode(changed, sizeof(changed), &m);
}

static void messages_that_break_the_rules_are_refused(void **state)
{
    (void)state;
    assert_int_equal(decode_with(0, 'B'), -1); /* the other order of bytes */
    assert_int_equal(decode_with(1, 0), -1);
    assert_int_equal(decode_with(1, 5), -1);
    assert_int_equal(decode_with(1, DBUS_REPLY), -1); /* to what? */
    assert_int_equal(decode_with(3, 2), -1);          /* a protocol that is not made yet */
    assert_int_equal(decode_with(4, 34), -1);         /* a byte longer than it is */
    assert_int_equal(decode_with(7, 0xff), -1);
    assert_int_equal(decode_with(8, 0), -1); /* no serial number */
    assert_int_equal(decode_with(OPENING_FIELDS, 57), -1);
    assert_int_equal(decode_with(OPENING_FIELDS + 3, 0xff), -1);
    assert_int_equal(decode_with(16, 0), -1);          /* field 0 */
    assert_int_equal(decode_with(16, 5), -1);          /* a serial number that is a text */
    assert_int_equal(decode_with(18, 's'), -1);        /* a path that is a string */
    assert_int_equal(decode_with(18, 'v'), -1);        /* a type that we do not read */
    assert_int_equal(decode_with(17, 2), -1);          /* two types */
    assert_int_equal(decode_with(PATH_LENGTH, 1), -1); /* no NUL where it ends */
    assert_int_equal(decode_with(PATH_LENGTH, 3), -1); /* a NUL within */
    assert_int_equal(decode_with(PATH_LENGTH, 200), -1);
    assert_int_equal(decode_with(PATH_LENGTH + 3, 0xff), -1);
    assert_int_equal(decode_with(PADDING, 1), -1);
    assert_int_equal(decode_with(SIGNATURE_TYPE, 's'), -1);
    assert_int_equal(decode_with(48, 11), -1);  /* no member: field 11 is nobody's */
    assert_int_equal(decode_with(BODY, 10), 0); /* the body is its reader's matter */
}

static void no_part_of_a_message_is_a_message(void **state)
{
    struct dbus_message m;

    (void)state;
    for (size_t len = 0; len < sizeof(job_removed); len++) {
        char *part = malloc(len ? len : 1); /* so that a sanitizer sees a step too far */

        memcpy(part, job_removed, len);
        assert_int_equal(dbus_decode(part, len, &m), -1);
        free(part);
    }
}

#define DBUS_TEST(test) cmocka_unit_test_setup_teardown(test, open_bytes, close_bytes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DBUS_TEST(a_call_has_the_bytes_that_the_rules_want),
        DBUS_TEST(arrays_count_their_elements_and_not_the_padding_before_them),
        DBUS_TEST(what_does_not_fit_is_said),
        DBUS_TEST(a_signal_is_read),
        DBUS_TEST(what_was_written_is_read_again),
        DBUS_TEST(messages_that_break_the_rules_are_refused),
        DBUS_TEST(no_part_of_a_message_is_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
