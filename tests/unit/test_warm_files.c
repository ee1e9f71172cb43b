/* A compiled program by descriptors, and what is kept between the jobs of a runtime. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "job/warm.h"
#include "plan/blueprint.h"
#include "unit.h"

static char dir[] = "/tmp/warm-files-XXXXXX";
static struct plan *plan;
static int fds[WARM_MAX_FILES];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    plan = plan_new();
    return plan ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    plan_free(plan);
    return tree_remove(AT_FDCWD, dir);
}

static const char *in_dir(const char *name)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    scoped_fd int fd = open(in_dir(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

static void close_all(int n)
{
    while (n > 0)
        close(fds[--n]);
}

static void files_come_with_names_modes_and_contents(void **state)
{
    bool program = false, class = false;
    char text[8] = "";

    (void)state;
    put("program", "main", 0755);
    assert_int_equal(mkdir(in_dir("classes"), 0755), 0);
    put("classes/A.class", "A", 0644);
    assert_int_equal(warm_files_open(plan, dir, fds), 2);
    assert_int_equal(plan->n_ops, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct plan_op *op = &plan->ops[i];

        assert_int_equal(op->kind, OP_PROGRAM);
        assert_int_equal(op->flags, OP_PASSED);
        memset(text, 0, sizeof(text));
        assert_true(read(fds[i], text, sizeof(text) - 1) > 0);
        if (!strcmp(op->to, "build/program"))
            program = op->mode == 0755 && !strcmp(text, "main");
        if (!strcmp(op->to, "build/classes/A.class"))
            class = op->mode == 0644 && !strcmp(text, "A");
    }
    assert_true(program && class);
    close_all(2);
}

static void what_is_no_file_does_not_fit(void **state)
{
    (void)state;
    put("program", "main", 0755);
    assert_int_equal(symlink("/etc/passwd", in_dir("link")), 0);
    assert_int_equal(warm_files_open(plan, dir, fds), -1);
    assert_int_equal(unlink(in_dir("link")), 0);
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(warm_files_open(plan, dir, fds), -1);
    assert_int_equal(unlink(in_dir("pipe")), 0);
    assert_int_equal(mkdir(in_dir("empty"), 0755), 0);
    assert_int_equal(warm_files_open(plan, dir, fds), -1);
    assert_int_equal(rmdir(in_dir("empty")), 0);
    assert_int_equal(warm_files_open(plan, dir, fds), 1);
    close_all(1);
    assert_int_equal(warm_files_open(plan, in_dir("program"), fds), -1);
    assert_int_equal(warm_files_open(plan, in_dir("missing"), fds), -1);
}

static void too_many_do_not_fit(void **state)
{
    int before = dup(0), after;
    char name[16];

    (void)state;
    close(before);
    for (int i = 0; i < WARM_MAX_FILES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        put(name, "", 0644);
    }
    assert_int_equal(warm_files_open(plan, dir, fds), WARM_MAX_FILES);
    close_all(WARM_MAX_FILES);
    put("another", "", 0644);
    assert_int_equal(warm_files_open(plan, dir, fds), -1);
    after = dup(0);
    assert_int_equal(after, before); /* nothing is left open */
    close(after);
}

static void too_much_does_not_fit(void **state)
{
    (void)state;
    put("program", "", 0755);
    assert_int_equal(truncate(in_dir("program"), (off_t)PLAN_APART_BYTES + 1), 0);
    assert_int_equal(warm_files_open(plan, dir, fds), -1);
}

static void a_connection_is_used_again(void **state)
{
    struct engine_connections *pool = engine_connections_new();
    struct warm one, two;
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    one = (struct warm){ .fd = -1 };
    two = (struct warm){ .fd = -1 };
    assert_false(engine_connections_take(pool, &two));
    one.fd = pair[0];
    strcpy(one.sent_key, "key");
    engine_connections_give(pool, &one);
    assert_int_equal(one.fd, -1);
    assert_true(engine_connections_take(pool, &two));
    assert_int_equal(two.fd, pair[0]);
    assert_true(two.used_before);
    assert_string_equal(two.sent_key, "key");
    assert_false(engine_connections_take(pool, &one));
    engine_connections_give(NULL, &two); /* no pool: it is closed */
    assert_int_equal(fcntl(pair[0], F_GETFD), -1);
    close(pair[1]);
    engine_connections_free(pool);
}

static void keys_are_those_of_the_bytes(void **state)
{
    struct engine_connections *pool = engine_connections_new();
    char key[SHA256_HEX_SIZE], expected[SHA256_HEX_SIZE];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (char c = 'a'; c < 'z'; c++) { /* more than it remembers */
            struct buf bytes;

            buf_init(&bytes, 16);
            assert_int_equal(buf_add(&bytes, &c, 1), 0);
            plan->cgroup_controllers = (uint32_t)round;
            blueprint_key_of(plan, &bytes, expected);
            for (int again = 0; again < 2; again++) {
                engine_connections_key(again ? pool : NULL, plan, &bytes, key);
                assert_string_equal(key, expected);
                engine_connections_key(pool, plan, &bytes, key);
                assert_string_equal(key, expected);
            }
            buf_done(&bytes);
        }
    }
    engine_connections_free(pool);
}

#define WARM_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WARM_TEST(files_come_with_names_modes_and_contents),
        WARM_TEST(what_is_no_file_does_not_fit),
        WARM_TEST(too_many_do_not_fit),
        WARM_TEST(too_much_does_not_fit),
        WARM_TEST(a_connection_is_used_again),
        WARM_TEST(keys_are_those_of_the_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
