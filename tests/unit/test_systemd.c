/* The conversation with systemd, against a peer of our own. */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/dbus.h"
#include "unit.h"

#define UNIT "sandbox-run-7.scope"

/* What the peer says, and what it was told. */
static struct {
    const char *greeting;
    const void *answer;
    size_t answer_len;
    bool closes; /* after its answer */
    char auth[64];
    char call[4096];
    size_t call_len;
} peer;

static char dir[] = "/tmp/sbr-unit-systemd-XXXXXX";
static struct systemd_socket place;
static int listener = -1;
static bool in_scope;
static pthread_t thread;

static bool arrived(const char *unit)
{
    assert_string_equal(unit, UNIT);
    return in_scope;
}

static void read_calls(int fd)
{
    struct pollfd more = { .fd = fd, .events = POLLIN };

    while (poll(&more, 1, 50) > 0) {
        ssize_t n = recv(fd, peer.call + peer.call_len, sizeof(peer.call) - peer.call_len, 0);

        if (n <= 0)
            return;
        peer.call_len += (size_t)n;
    }
}

static void *answer(void *unused)
{
    int fd = accept(listener, NULL, NULL);
    char rest;

    (void)unused;
    (void)!read(fd, peer.auth, sizeof(peer.auth) - 1);
    if (peer.greeting) {
        (void)!send(fd, peer.greeting, strlen(peer.greeting), MSG_NOSIGNAL); /* may come too late */
        read_calls(fd);
    }
    if (peer.answer)
        (void)!send(fd, peer.answer, peer.answer_len, MSG_NOSIGNAL);
    while (!peer.closes && read(fd, &rest, 1) > 0)
        continue;
    close(fd);
    return NULL;
}

static int start_scope(uint64_t timeout_ms, sbr_error *err)
{
    struct systemd_scope scope = { UNIT, timeout_ms * 1000, arrived };
    int r;

    assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
    r = systemd_start_scope(&place, &scope, err);
    pthread_join(thread, NULL);
    return r;
}

static int listen_there(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)state;
    memset(&peer, 0, sizeof(peer));
    peer.greeting = "OK 0123456789abcdef0123456789abcdef\r\n";
    in_scope = false;
    place.is_bus = false;
    snprintf(place.path, sizeof(place.path), "%s/bus", dir);
    memcpy(address.sun_path, place.path, strlen(place.path) + 1);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 1);
}

static int listen_no_more(void **state)
{
    (void)state;
    close(listener);
    return unlink(place.path);
}

static void say(struct buf *bytes, struct dbus_message *m, struct buf *body)
{
    m->serial = 1;
    m->body = body->data;
    m->body_len = body->len;
    dbus_encode(bytes, m);
    peer.answer = bytes->data;
    peer.answer_len = bytes->len;
    buf_done(body);
}

static void say_job_removed(struct buf *bytes, const char *unit, const char *result)
{
    struct dbus_message m = { .type = DBUS_SIGNAL,
                              .path = "/org/freedesktop/systemd1",
                              .interface = "org.freedesktop.systemd1.Manager",
                              .member = "JobRemoved",
                              .signature = "uoss" };
    struct buf body;

    buf_init(bytes, 4096);
    buf_init(&body, 4096);
    dbus_put_u32(&body, 12);
    dbus_put_string(&body, "/org/freedesktop/systemd1/job/12");
    dbus_put_string(&body, unit);
    dbus_put_string(&body, result);
    say(bytes, &m, &body);
}

static void say_error(struct buf *bytes, const char *text)
{
    struct dbus_message m = {
        .type = DBUS_ERROR, .reply_to = 1, .error = "org.freedesktop.DBus.Error.X", .signature = "s"
    };
    struct buf body;

    buf_init(bytes, 4096);
    buf_init(&body, 4096);
    dbus_put_string(&body, text);
    say(bytes, &m, &body);
}

static void a_scope_is_asked_for_with_this_process_in_it(void **state)
{
    struct dbus_message call;
    char hex[32] = "", uid[16];
    uint32_t pid = (uint32_t)getpid();
    sbr_error err;

    (void)state;
    in_scope = true;
    assert_int_equal(start_scope(5000, &err), 0);
    snprintf(uid, sizeof(uid), "%u", geteuid());
    for (size_t i = 0; uid[i]; i++)
        snprintf(hex + 2 * i, 3, "3%c", uid[i]);
    assert_int_equal(peer.auth[0], '\0');
    assert_memory_equal(peer.auth + 1, "AUTH EXTERNAL ", 14);
    assert_memory_equal(peer.auth + 15, hex, strlen(hex));
    assert_string_equal(peer.auth + 15 + strlen(hex), "\r\n");
    assert_memory_equal(peer.call, "BEGIN\r\n", 7);
    assert_int_equal(dbus_decode(peer.call + 7, peer.call_len - 7, &call), 0);
    assert_string_equal(call.member, "StartTransientUnit");
    assert_string_equal(call.signature, "ssa(sv)a(sa(sv))");
    assert_string_equal(call.body + 4, UNIT);
    assert_non_null(memmem(call.body, call.body_len,
                           "\x08\0\0\0Delegate\0\x01"
                           "b\0",
                           16));
    assert_non_null(memmem(call.body, call.body_len,
                           "\x04\0\0\0PIDs\0\x02"
                           "au\0",
                           13));
    assert_non_null(memmem(call.body, call.body_len, &pid, sizeof(pid)));
}

static void a_bus_is_greeted_first(void **state)
{
    struct dbus_message call;
    const char *at = peer.call + 7;
    static const char *const members[] = { "Hello", "AddMatch", "Subscribe", "StartTransientUnit" };
    sbr_error err;

    (void)state;
    in_scope = true;
    place.is_bus = true;
    assert_int_equal(start_scope(5000, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        size_t len = dbus_length(at);

        assert_int_equal(dbus_decode(at, len, &call), 0);
        assert_string_equal(call.member, members[i]);
        assert_int_equal(call.serial, i + 1);
        at += len;
    }
    assert_ptr_equal(at, peer.call + peer.call_len);
}

static void a_refusal_is_told_in_its_own_words_without_control_characters(void **state)
{
    struct buf bytes;
    sbr_error err;

    (void)state;
    say_error(&bytes, "no\x1b[31m scopes here");
    assert_refused(start_scope(5000, &err), &err, SBR_E_DENIED, "no?[31m scopes here");
    assert_non_null(strstr(err.message, "org.freedesktop.DBus.Error.X"));
    buf_done(&bytes);
}

static void a_job_that_fails_is_a_refusal(void **state)
{
    struct buf bytes;
    sbr_error err;

    (void)state;
    say_job_removed(&bytes, UNIT, "failed");
    assert_refused(start_scope(5000, &err), &err, SBR_E_DENIED, "journal");
    buf_done(&bytes);
}

static void a_job_that_is_done_without_us_is_not_believed(void **state)
{
    struct buf bytes;
    sbr_error err;

    (void)state;
    say_job_removed(&bytes, UNIT, "done");
    assert_refused(start_scope(5000, &err), &err, SBR_E_SYSTEM, "without us");
    buf_done(&bytes);
}

static void the_end_of_other_jobs_does_not_matter(void **state)
{
    struct buf bytes;
    sbr_error err;

    (void)state;
    say_job_removed(&bytes, "other.scope", "failed");
    assert_refused(start_scope(1000, &err), &err, SBR_E_BUSY, "in time");
    buf_done(&bytes);
}

static void a_peer_that_is_silent_is_not_waited_for(void **state)
{
    uint64_t before = clock_now_us();
    sbr_error err;

    (void)state;
    peer.greeting = NULL;
    assert_refused(start_scope(100, &err), &err, SBR_E_BUSY, "in time");
    assert_true(clock_now_us() - before < 3000000);
}

static void answers_that_are_none_are_refused(void **state)
{
    static const char longer[] = "l\4\1\1\0\0\0\xff\1\0\0\0\0\0\0\0";
    sbr_error err;

    (void)state;
    peer.greeting = "REJECTED EXTERNAL\r\n";
    assert_refused(start_scope(5000, &err), &err, SBR_E_DENIED, "who we are");
    peer.greeting = "OK 0\r\n";
    peer.answer = "HTTP/1.1 400 Bad Request\r\n";
    peer.answer_len = 26;
    assert_refused(start_scope(5000, &err), &err, SBR_E_SYSTEM, "not understood");
    peer.answer = longer;
    peer.answer_len = sizeof(longer) - 1;
    assert_refused(start_scope(5000, &err), &err, SBR_E_SYSTEM, "not understood");
    peer.answer_len = 3;
    peer.closes = true;
    assert_refused(start_scope(5000, &err), &err, SBR_E_SYSTEM, "closed");
}

static void where_nobody_listens_there_is_no_scope(void **state)
{
    struct systemd_scope scope = { UNIT, 1000000, arrived };
    struct systemd_socket nowhere = { .path = "/nowhere/private" };
    sbr_error err;

    (void)state;
    assert_refused(systemd_start_scope(&nowhere, &scope, &err), &err, SBR_E_SYSTEM, "/nowhere");
}

static void sockets_are_found_where_they_belong_to_the_user(void **state)
{
    struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS];
    unsigned int n;

    (void)state;
    setenv("XDG_RUNTIME_DIR", dir, 1);
    n = systemd_sockets(sockets);
    if (geteuid() == 0) { /* root's are at fixed places */
        for (unsigned int i = 0; i < n; i++)
            assert_memory_equal(sockets[i].path, "/run/", 5);
        return;
    }
    assert_true(n > 0);
    assert_string_equal(sockets[0].path, place.path);
    assert_true(sockets[0].is_bus);
    unlink(place.path); /* a file is no socket */
    close(open(place.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_true(systemd_sockets(sockets) < n);
}

static bool ask_whether_delegated(const char *unit)
{
    bool answer_was_yes;

    assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
    answer_was_yes = systemd_is_delegated(&place, unit, 500000);
    pthread_join(thread, NULL);
    return answer_was_yes;
}

static void say_delegate(struct buf *bytes, const char *value, size_t len)
{
    struct dbus_message m = { .type = DBUS_REPLY, .reply_to = 1, .signature = "v" };
    struct buf body;

    buf_init(bytes, 4096);
    buf_init(&body, 4096);
    (void)buf_add(&body, value, len);
    say(bytes, &m, &body);
}

static void a_unit_is_delegated_when_its_manager_says_so(void **state)
{
    struct dbus_message call;
    struct buf bytes;

    (void)state;
    say_delegate(&bytes, "\1b\0\0\1\0\0\0", 8);
    assert_true(ask_whether_delegated("7a-b@c.service"));
    assert_int_equal(dbus_decode(peer.call + 7, peer.call_len - 7, &call), 0);
    assert_string_equal(call.path, "/org/freedesktop/systemd1/unit/_37a_2db_40c_2eservice");
    assert_string_equal(call.body + 4, "org.freedesktop.systemd1.Service");
    buf_done(&bytes);
    say_delegate(&bytes, "\1b\0\0\0\0\0\0", 8);
    assert_false(ask_whether_delegated("a.scope"));
    buf_done(&bytes);
}

static void other_answers_are_a_no(void **state)
{
    struct buf bytes;

    (void)state;
    say_delegate(&bytes, "\1u\0\0\1\0\0\0", 8);
    assert_false(ask_whether_delegated("a.scope"));
    buf_done(&bytes);
    say_delegate(&bytes, "\1b\0", 3);
    assert_false(ask_whether_delegated("a.scope"));
    buf_done(&bytes);
    say_error(&bytes, "who?");
    assert_false(ask_whether_delegated("a.scope"));
    buf_done(&bytes);
    peer.answer = NULL;
    assert_false(ask_whether_delegated("a.scope"));
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

#define SYSTEMD_TEST(test) cmocka_unit_test_setup_teardown(test, listen_there, listen_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SYSTEMD_TEST(a_scope_is_asked_for_with_this_process_in_it),
        SYSTEMD_TEST(a_bus_is_greeted_first),
        SYSTEMD_TEST(a_refusal_is_told_in_its_own_words_without_control_characters),
        SYSTEMD_TEST(a_job_that_fails_is_a_refusal),
        SYSTEMD_TEST(a_job_that_is_done_without_us_is_not_believed),
        SYSTEMD_TEST(the_end_of_other_jobs_does_not_matter),
        SYSTEMD_TEST(a_peer_that_is_silent_is_not_waited_for),
        SYSTEMD_TEST(answers_that_are_none_are_refused),
        SYSTEMD_TEST(where_nobody_listens_there_is_no_scope),
        SYSTEMD_TEST(a_unit_is_delegated_when_its_manager_says_so),
        SYSTEMD_TEST(other_answers_are_a_no),
        SYSTEMD_TEST(sockets_are_found_where_they_belong_to_the_user),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
