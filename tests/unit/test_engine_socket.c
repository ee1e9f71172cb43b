/* Where the engine and its clients meet. */
#include "job/engine_socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "unit.h"

static char dir[] = "/tmp/engine-socket-XXXXXX", path[ENGINE_PATH_SIZE];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/engine.sock", dir);
    return setenv(ENGINE_SOCKET_ENV, path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void nobody_is_there(void **state)
{
    int fd = -1;

    (void)state;
    assert_int_equal(engine_connect(&fd), -1);
    assert_int_equal(fd, -1);
}

static void a_client_finds_the_engine(void **state)
{
    scoped_fd int listening = -1, client = -1;
    struct stat st;
    sbr_error err;

    (void)state;
    assert_int_equal(engine_listen(&listening, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(engine_connect(&client), 0);
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
}

static void there_is_one_engine(void **state)
{
    scoped_fd int listening = -1, second = -1;
    sbr_error err;

    (void)state;
    assert_int_equal(engine_listen(&listening, &err), 0);
    assert_refused(engine_listen(&second, &err), &err, SBR_E_BUSY, "is running");
    assert_int_equal(second, -1);
}

static void what_a_dead_engine_left_is_taken_over(void **state)
{
    scoped_fd int listening = -1, client = -1;
    sbr_error err;

    (void)state;
    assert_int_equal(engine_listen(&listening, &err), 0);
    close(take_fd(listening));
    assert_int_equal(engine_connect(&client), -1);
    assert_int_equal(engine_listen(&listening, &err), 0);
    assert_int_equal(engine_connect(&client), 0);
    engine_unlisten();
    assert_int_equal(access(path, F_OK), -1);
}

static void something_else_of_that_name_is_left_alone(void **state)
{
    scoped_fd int listening = -1, file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    sbr_error err;

    (void)state;
    assert_true(file >= 0);
    assert_refused(engine_listen(&listening, &err), &err, SBR_E_DENIED, "not a socket");
    assert_int_equal(access(path, F_OK), 0);
}

static void a_chosen_path_is_absolute_and_not_too_long(void **state)
{
    char text[ENGINE_PATH_SIZE + 20], buf[ENGINE_PATH_SIZE];
    sbr_error err;

    (void)state;
    setenv(ENGINE_SOCKET_ENV, "engine.sock", 1);
    assert_refused(engine_socket_path(buf, sizeof(buf), &err), &err, SBR_E_INVALID, "absolute");
    memset(text, 'x', sizeof(text));
    text[0] = '/';
    text[ENGINE_PATH_SIZE] = '\0';
    setenv(ENGINE_SOCKET_ENV, text, 1);
    assert_refused(engine_socket_path(buf, sizeof(buf), &err), &err, SBR_E_INVALID, "too long");
}

static void each_user_has_a_place(void **state)
{
    char buf[ENGINE_PATH_SIZE], expected[ENGINE_PATH_SIZE];
    sbr_error err;

    (void)state;
    unsetenv(ENGINE_SOCKET_ENV);
    setenv("XDG_RUNTIME_DIR", "/run/user/77", 1);
    assert_int_equal(engine_socket_path(buf, sizeof(buf), &err), 0);
    assert_string_equal(buf, geteuid() == 0 ? "/run/sandbox-run/engine.sock"
                                            : "/run/user/77/sandbox-run/engine.sock");
    unsetenv("XDG_RUNTIME_DIR");
    snprintf(expected, sizeof(expected), "/tmp/sandbox-run-%u/engine.sock",
             (unsigned int)geteuid());
    assert_int_equal(engine_socket_path(buf, sizeof(buf), &err), 0);
    assert_string_equal(buf, geteuid() == 0 ? "/run/sandbox-run/engine.sock" : expected);
}

#define SOCKET_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(nobody_is_there),
        SOCKET_TEST(a_client_finds_the_engine),
        SOCKET_TEST(there_is_one_engine),
        SOCKET_TEST(what_a_dead_engine_left_is_taken_over),
        SOCKET_TEST(something_else_of_that_name_is_left_alone),
        SOCKET_TEST(a_chosen_path_is_absolute_and_not_too_long),
        SOCKET_TEST(each_user_has_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
