/* Who is at the other end of a socket: a process that lives where we live, or nobody. */
#include "sandbox/peer.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "unit.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static struct peer_home home;
static int listener = -1;
static char dir[] = "/tmp/peer-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    peer_look_home(&home);
    assert_true(home.known);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(listener);
    unlink(address.sun_path);
    return rmdir(dir);
}

/* A child that connects, from other namespaces if so wanted, says so, and lives until its end of
 * `hold` closes. */
struct child {
    pid_t pid;
    int hold;
};

static void live(int namespaces, int hold)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    char word;

    if (namespaces && unshare(namespaces) < 0)
        _exit(2);
    if (namespaces & CLONE_NEWPID) { /* only children are in it */
        pid_t below = fork();

        if (below > 0)
            _exit(waitpid(below, NULL, 0) == below ? 0 : 1);
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        _exit(1);
    _exit(read(hold, &word, 1) == 0 ? 0 : 1);
}

static struct child start(int namespaces)
{
    struct child child;
    int hold[2];

    assert_int_equal(pipe(hold), 0);
    child.pid = fork();
    if (child.pid == 0) {
        close(hold[1]);
        live(namespaces, hold[0]);
    }
    close(hold[0]);
    child.hold = hold[1];
    return child;
}

static int end(const struct child *child)
{
    int status;

    close(child->hold);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return WEXITSTATUS(status);
}

/* -1: it could not make the namespaces. */
static int accept_one(void)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };

    return poll(&ready, 1, 5000) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

static void a_process_beside_us_is_a_neighbour(void **state)
{
    struct child child = start(0);
    scoped_fd int fd = accept_one();
    struct ucred peer;

    (void)state;
    assert_true(peer_is_neighbour(fd, &home, &peer));
    assert_int_equal(peer.pid, child.pid);
    assert_int_equal(end(&child), 0);
}

static void one_that_lives_elsewhere_is_none(void **state)
{
    static const int namespaces[] = { CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWPID };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        struct child child = start(namespaces[i]);
        scoped_fd int fd = accept_one();

        if (fd < 0) {
            assert_int_equal(end(&child), 2);
            skip();
        }
        assert_false(peer_is_neighbour(fd, &home, NULL));
        assert_int_equal(end(&child), 0);
    }
}

/* Somebody else may hold its end of the socket, or have its number. */
static void one_that_has_ended_is_none(void **state)
{
    struct child child = start(0);
    scoped_fd int fd = accept_one();

    (void)state;
    assert_int_equal(end(&child), 0);
    assert_false(peer_is_neighbour(fd, &home, NULL));
}

static void whoever_has_no_home_has_no_neighbours(void **state)
{
    const struct peer_home nowhere = { 0 };
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_true(peer_is_neighbour(pair[0], &home, NULL));
    assert_false(peer_is_neighbour(pair[0], &nowhere, NULL));
    close(pair[0]);
    close(pair[1]);
}

static void a_socket_of_the_network_has_no_peer(void **state)
{
    scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_false(peer_is_neighbour(fd, &home, NULL));
    assert_false(peer_is_neighbour(-1, &home, NULL));
}

#define PEER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEER_TEST(a_process_beside_us_is_a_neighbour),
        PEER_TEST(one_that_lives_elsewhere_is_none),
        PEER_TEST(one_that_has_ended_is_none),
        PEER_TEST(whoever_has_no_home_has_no_neighbours),
        PEER_TEST(a_socket_of_the_network_has_no_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
