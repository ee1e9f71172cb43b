#include "changes/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "tree_fixture.h"
#include "unit.h"

static struct tree_place place;

static int make_place(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    tree_place_remove(&place);
    return 0;
}

static void it_is_made_when_something_is_kept(void **state)
{
    struct state_dir dir;
    struct stat st;
    sbr_error err;

    (void)state;
    assert_int_equal(state_open(STATE_CHANGES, false, &dir, &err), 0);
    assert_int_equal(faccessat(place.top_fd, "state", F_OK, 0), -1);
    assert_int_equal(state_open(STATE_CHANGES, true, &dir, &err), 1);
    assert_string_equal(dir.path, tree_at(&place, "state/changes"));
    assert_int_equal(fstat(dir.fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    state_close(&dir);
    state_close(&dir);
    assert_int_equal(state_open(STATE_WORKSPACES, false, &dir, &err), 1);
    state_close(&dir);
}

static void without_a_name_it_is_in_the_users_home(void **state)
{
    struct state_dir dir;
    sbr_error err;

    (void)state;
    unsetenv("SANDBOX_RUN_STATE");
    setenv("XDG_STATE_HOME", tree_at(&place, "a"), 1);
    assert_int_equal(state_open(STATE_CHANGES, true, &dir, &err), 1);
    assert_string_equal(dir.path, tree_at(&place, "a/sandbox-run/changes"));
    state_close(&dir);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", tree_at(&place, "b"), 1);
    assert_int_equal(mkdirat(place.top_fd, "b/.local", 0700), 0);
    assert_int_equal(state_open(STATE_CHANGES, true, &dir, &err), 1);
    assert_string_equal(dir.path, tree_at(&place, "b/.local/state/sandbox-run/changes"));
    state_close(&dir);
}

static void what_others_can_reach_is_refused(void **state)
{
    struct state_dir dir;
    sbr_error err;

    (void)state;
    assert_int_equal(mkdirat(place.top_fd, "state", 0755), 0);
    assert_refused(state_open(STATE_CHANGES, true, &dir, &err), &err, SBR_E_DENIED, "look into");
    assert_int_equal(fchmodat(place.top_fd, "state", 0730, 0), 0);
    assert_refused(state_open(STATE_CHANGES, true, &dir, &err), &err, SBR_E_DENIED, "write to");
    assert_int_equal(fchmodat(place.top_fd, "state", 0700, 0), 0);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(place.top_fd, "state", 1234, 1234, 0), 0);
        assert_refused(state_open(STATE_CHANGES, true, &dir, &err), &err, SBR_E_DENIED,
                       "belongs to user 1234");
    }
    setenv("SANDBOX_RUN_STATE", "relative", 1);
    assert_refused(state_open(STATE_CHANGES, true, &dir, &err), &err, SBR_E_INVALID, "absolute");
}

/* As every staging_open does. */
static void sweep(void)
{
    struct staging other;
    sbr_error err;

    assert_int_equal(staging_open(&other, &err), 0);
    staging_discard(&other);
}

static void what_the_dead_left_is_swept_and_nothing_else(void **state)
{
    struct staging mine, dead;
    char name[64];
    sbr_error err;

    (void)state;
    assert_int_equal(staging_open(&dead, &err), 0);
    assert_int_equal(mkdirat(dead.fd, "locked", 0), 0);
    snprintf(name, sizeof(name), "state/staging/%s", dead.id);
    staging_release(&dead); /* as if it had died */
    assert_int_equal(mkdirat(place.top_fd, "state/staging/notes", 0700), 0);
    assert_int_equal(staging_open(&mine, &err), 0);
    assert_int_equal(faccessat(place.top_fd, name, F_OK, 0), -1);
    sweep();
    assert_int_equal(access(mine.path, F_OK), 0);
    close(mine.fd); /* the lock is another descriptor's */
    mine.fd = -1;
    sweep();
    assert_int_equal(access(mine.path, F_OK), 0);
    staging_discard(&mine);
    staging_discard(&mine);
    assert_int_equal(faccessat(place.top_fd, "state/staging/notes", F_OK, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_made_when_something_is_kept),
        TEST(without_a_name_it_is_in_the_users_home),
        TEST(what_others_can_reach_is_refused),
        TEST(what_the_dead_left_is_swept_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
