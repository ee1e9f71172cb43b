/* Ids are held by locks in a directory of the test's own, so nothing here needs to be root. */
#include "sandbox/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static char dir[] = "/tmp/id-locks-XXXXXX", file[40];

static const struct features as_root = { .privileged = true, .uid = 0 };

static int make_dir(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/ids", dir);
    return setenv(ID_LOCKS_VARIABLE, dir, 1);
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(dir);
}

static int no_variable(void **state)
{
    (void)state;
    return unsetenv(IDS_VARIABLE);
}

static void an_ordinary_user_is_that_user(void **state)
{
    const struct features features = { .uid = 1234, .gid = 5678 };
    struct ids ids;
    sbr_error err;

    (void)state;
    setenv(IDS_VARIABLE, "not even looked at", 1);
    assert_int_equal(ids_take(&ids, &features, &err), 0);
    assert_int_equal(ids.host_uid, 1234);
    assert_int_equal(ids.host_gid, 5678);
    assert_int_equal(ids.lock_fd, -1);
    ids_release(&ids);
}

static void root_gives_each_run_an_id_of_its_own(void **state)
{
    struct ids a, b;
    sbr_error err;

    (void)state;
    assert_int_equal(ids_take(&a, &as_root, &err), 0);
    assert_int_equal(ids_take(&b, &as_root, &err), 0);
    assert_in_range(a.host_uid, IDS_FIRST, IDS_FIRST + IDS_COUNT - 1);
    assert_in_range(b.host_uid, IDS_FIRST, IDS_FIRST + IDS_COUNT - 1);
    assert_int_equal(a.host_uid, a.host_gid);
    assert_int_not_equal(a.host_uid, b.host_uid);
    ids_release(&a);
    ids_release(&b);
}

static void a_range_is_used_up_and_freed_again(void **state)
{
    struct ids first, second, third;
    sbr_error err;

    (void)state;
    setenv(IDS_VARIABLE, "1950000000:2", 1);
    assert_int_equal(ids_take(&first, &as_root, &err), 0);
    assert_int_equal(ids_take(&second, &as_root, &err), 0);
    assert_int_equal(first.host_uid + second.host_uid, 2 * 1950000000u + 1);
    assert_refused(ids_take(&third, &as_root, &err), &err, SBR_E_BUSY, IDS_VARIABLE);
    ids_release(&first);
    assert_int_equal(first.lock_fd, -1);
    assert_int_equal(ids_take(&third, &as_root, &err), 0);
    assert_int_equal(third.host_uid, first.host_uid);
    ids_release(&second);
    ids_release(&third);
    ids_release(&third);
}

static void a_range_within_bounds_is_taken(void **state)
{
    static const char *const good[] = { "65536:1", "4294967293:1", "100000:65536", "" };
    struct ids ids;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        setenv(IDS_VARIABLE, good[i], 1);
        assert_int_equal(ids_take(&ids, &as_root, &err), 0);
        assert_true(ids.host_uid >= 65536 && ids.host_uid < 4294967294u);
        ids_release(&ids);
    }
}

static void a_range_out_of_bounds_is_refused(void **state)
{
    static const char *const bad[] = {
        "x",
        "65536",
        ":",
        "65536:",
        ":5",
        "0:10",
        "1000:10",
        "65535:1",
        "65536:0",
        "65536:-1",
        "-1:5",
        "65536:65537",
        "65536:1x",
        "65536:1:1",
        "65536 :1",
        "4294967294:1",
        "4294967290:10",
        "99999999999999999999:1",
        "65536:99999999999999999999",
        "0x20000:1",
    };
    struct ids ids;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        setenv(IDS_VARIABLE, bad[i], 1);
        if (ids_take(&ids, &as_root, &err) == 0)
            fail_msg("'%s' gave %u", bad[i], ids.host_uid);
        assert_refused(err.code, &err, SBR_E_INVALID, "FIRST:COUNT");
    }
}

/* As the engine does that has lent a sandbox: whoever has a copy of the descriptor holds the id. */
static void an_id_is_held_by_every_copy_of_its_descriptor(void **state)
{
    struct ids first, second;
    sbr_error err;
    int copy;

    (void)state;
    setenv(IDS_VARIABLE, "1950000000:1", 1);
    assert_int_equal(ids_take(&first, &as_root, &err), 0);
    copy = dup(first.lock_fd);
    ids_release(&first);
    assert_refused(ids_take(&second, &as_root, &err), &err, SBR_E_BUSY, IDS_VARIABLE);
    close(copy);
    assert_int_equal(ids_take(&second, &as_root, &err), 0);
    ids_release(&second);
}

static void an_id_is_free_when_its_holder_dies(void **state)
{
    struct ids ids;
    sbr_error err;
    pid_t holder;
    int status;

    (void)state;
    setenv(IDS_VARIABLE, "1950000000:1", 1);
    holder = fork();
    if (holder == 0)
        _exit(ids_take(&ids, &as_root, &err) == 0 ? 0 : 1);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0);
    assert_int_equal(ids_take(&ids, &as_root, &err), 0);
    ids_release(&ids);
}

/* Who can open the file can take every lock in it. */
static void a_file_that_others_can_open_is_none(void **state)
{
    struct ids ids;
    sbr_error err;

    (void)state;
    assert_int_equal(ids_take(&ids, &as_root, &err), 0);
    ids_release(&ids);
    assert_int_equal(chmod(file, 0604), 0);
    assert_refused(ids_take(&ids, &as_root, &err), &err, SBR_E_SYSTEM, ID_LOCKS_VARIABLE);
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_refused(ids_take(&ids, &as_root, &err), &err, SBR_E_SYSTEM, ID_LOCKS_VARIABLE);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("/dev/null", file), 0);
    assert_refused(ids_take(&ids, &as_root, &err), &err, SBR_E_SYSTEM, ID_LOCKS_VARIABLE);
    assert_int_equal(unlink(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_ordinary_user_is_that_user, no_variable),
        cmocka_unit_test_setup(root_gives_each_run_an_id_of_its_own, no_variable),
        cmocka_unit_test_setup(a_range_is_used_up_and_freed_again, no_variable),
        cmocka_unit_test_setup(a_range_within_bounds_is_taken, no_variable),
        cmocka_unit_test_setup(a_range_out_of_bounds_is_refused, no_variable),
        cmocka_unit_test_setup(an_id_is_held_by_every_copy_of_its_descriptor, no_variable),
        cmocka_unit_test_setup(an_id_is_free_when_its_holder_dies, no_variable),
        cmocka_unit_test_setup(a_file_that_others_can_open_is_none, no_variable),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
