/* The search for a group to make leaves in, in directories that look like a machine's groups. */
#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "unit.h"

#define BOTH (1u << CG_MEMORY | 1u << CG_PIDS)
#define ALL (BOTH | 1u << CG_CPU)
#define MEASURED (1u << CG_CPUACCT)

static char mount[64];
static struct cgroup_view view;
static struct cgroup_features found;

static void put(const char *group, const char *file, const char *text)
{
    char path[256];
    scoped_fd int fd = -1;

    snprintf(path, sizeof(path), "%s%s/%s", mount, group, file);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

/* A group that has `controllers` and hands `down` some of them. */
static void make_group(const char *group, const char *controllers, const char *down)
{
    char path[256];

    snprintf(path, sizeof(path), "%s%s", mount, group);
    if (group[0]) {
        assert_int_equal(mkdir(path, 0700), 0);
        put(group, "cgroup.events", "populated 1\n");
    }
    put(group, "cgroup.controllers", controllers);
    put(group, "cgroup.subtree_control", down);
    put(group, "cgroup.procs", "1\n");
}

static void only_we_are_in(const char *group)
{
    char text[16];

    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    put(group, "cgroup.procs", text);
}

/* False where the file system has no such attributes: then the test is of no use. */
static bool delegate(const char *group)
{
    char path[256];

    snprintf(path, sizeof(path), "%s%s", mount, group);
    return setxattr(path, "user.delegate", "1", 1, 0) == 0 ||
           setxattr(path, "trusted.delegate", "1", 1, 0) == 0;
}

static void find_from(const char *own)
{
    snprintf(view.own, sizeof(view.own), "%s", own);
    cgroup_v2_find(&view, &found);
}

static void assert_found(enum cgroup_need need, const char *group, uint32_t usable)
{
    char path[256];

    snprintf(path, sizeof(path), "%s%s", mount, group);
    assert_int_equal(found.kind, CGROUP_V2);
    assert_int_equal(found.need, need);
    assert_string_equal(found.parent[0], path);
    assert_int_equal(found.usable, usable | MEASURED);
}

static int make_mount(void **state)
{
    (void)state;
    memcpy(mount, "/tmp/sbr-unit-find-XXXXXX", sizeof("/tmp/sbr-unit-find-XXXXXX"));
    view = (struct cgroup_view){ .mount = mount, .may_prepare = true };
    unsetenv("XDG_RUNTIME_DIR");
    return mkdtemp(mount) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static int remove_mount(void **state)
{
    (void)state;
    return nftw(mount, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void the_nearest_group_that_hands_both_down_is_taken(void **state)
{
    (void)state;
    make_group("", "cpu memory pids\n", "cpu memory pids\n");
    make_group("/a", "cpu memory pids\n", "memory pids\n");
    make_group("/a/b", "memory pids\n", "");
    find_from("/a/b");
    assert_found(CGROUP_READY, "/a", BOTH);
}

static void one_controller_is_better_than_none_and_two_are_better_than_one(void **state)
{
    (void)state;
    make_group("", "memory pids\n", "memory pids\n");
    make_group("/a", "memory pids\n", "pids\n");
    make_group("/a/b", "pids\n", "");
    find_from("/a/b");
    assert_found(CGROUP_READY, "", BOTH);
    put("", "cgroup.subtree_control", "pids\n"); /* as after cgroup_disable=memory */
    put("", "cgroup.controllers", "pids\n");
    put("/a", "cgroup.controllers", "pids\n");
    find_from("/a/b");
    assert_found(CGROUP_READY, "/a", 1u << CG_PIDS);
}

static void without_a_controller_of_use_there_is_no_place(void **state)
{
    (void)state;
    make_group("", "cpu\n", "cpu\n");
    make_group("/a", "cpu\n", "");
    find_from("/a");
    assert_int_equal(found.kind, CGROUP_NONE);
    assert_int_equal(found.usable, 0);
}

static void controllers_are_switched_on_at_the_real_root_only_with_processes_in_it(void **state)
{
    (void)state;
    make_group("", "cpu memory pids\n", "");
    find_from("/");
    assert_found(CGROUP_ENABLE, "", ALL);
    put("", "cgroup.events", "populated 1\n"); /* the root of a namespace now */
    find_from("/");
    assert_int_equal(found.kind, CGROUP_NONE);
    put("", "cgroup.procs", "");
    find_from("/");
    assert_found(CGROUP_ENABLE, "", ALL);
}

static void a_group_by_hand_is_not_left_since_nobody_could_enter_it_again(void **state)
{
    (void)state;
    make_group("", "memory pids\n", "");
    put("", "cgroup.events", "populated 1\n");
    make_group("/a", "memory pids\n", "");
    only_we_are_in("/a");
    find_from("/a");
    assert_int_equal(found.kind, CGROUP_NONE);
}

static void make_service(const char *unit)
{
    make_group("", "memory pids\n", "memory pids\n");
    make_group("/system.slice", "memory pids\n", "memory pids\n");
    make_group(unit, "memory pids\n", "");
    only_we_are_in(unit);
    view.managed = true;
}

static void a_delegated_service_in_which_we_are_alone_is_ours(void **state)
{
    (void)state;
    make_service("/system.slice/x.service");
    if (!delegate("/system.slice/x.service"))
        skip();
    find_from("/system.slice/x.service");
    assert_found(CGROUP_LEAVE, "/system.slice/x.service", BOTH);
    /* Afterwards nothing is left to be done. */
    make_group("/system.slice/x.service/supervisor", "memory pids\n", "");
    only_we_are_in("/system.slice/x.service/supervisor");
    put("/system.slice/x.service", "cgroup.procs", "");
    put("/system.slice/x.service", "cgroup.subtree_control", "memory pids\n");
    find_from("/system.slice/x.service/supervisor");
    assert_found(CGROUP_READY, "/system.slice/x.service", BOTH);
}

static void a_service_that_systemd_splits_needs_controllers_only(void **state)
{
    (void)state;
    make_service("/system.slice/x.service");
    if (!delegate("/system.slice/x.service"))
        skip();
    make_group("/system.slice/x.service/main", "memory pids\n", "");
    put("/system.slice/x.service", "cgroup.procs", "");
    find_from("/system.slice/x.service/main");
    assert_found(CGROUP_ENABLE, "/system.slice/x.service", BOTH);
}

static void what_systemd_manages_is_the_last_resort(void **state)
{
    (void)state;
    make_service("/system.slice/x.service");
    view.may_prepare = false;
    find_from("/system.slice/x.service");
    assert_found(CGROUP_READY, "/system.slice", BOTH);
}

static void a_delegated_unit_with_others_in_it_is_not_left(void **state)
{
    (void)state;
    make_service("/system.slice/x.service");
    if (!delegate("/system.slice/x.service"))
        skip();
    put("/system.slice/x.service", "cgroup.procs", "1\n2\n");
    view.may_prepare = geteuid() != 0; /* root may have a real manager to ask */
    find_from("/system.slice/x.service");
    assert_found(CGROUP_READY, "/system.slice", BOTH);
}

static void a_manager_below_a_delegated_unit_keeps_its_own_units(void **state)
{
    (void)state;
    make_service("/system.slice/user@7.service");
    if (!delegate("/system.slice/user@7.service"))
        skip();
    put("/system.slice/user@7.service", "cgroup.procs", "");
    make_group("/system.slice/user@7.service/a.scope", "memory pids\n", "");
    only_we_are_in("/system.slice/user@7.service/a.scope");
    view.may_prepare = false;
    find_from("/system.slice/user@7.service/a.scope");
    assert_found(CGROUP_READY, "/system.slice", BOTH);
}

static void a_path_of_the_host_leads_to_what_is_mounted(void **state)
{
    (void)state;
    make_group("", "memory pids\n", "memory pids\n");
    find_from("/docker/123");
    assert_found(CGROUP_READY, "", BOTH);
    find_from("/../../x");
    assert_found(CGROUP_READY, "", BOTH);
}

#define FIND_TEST(test) cmocka_unit_test_setup_teardown(test, make_mount, remove_mount)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIND_TEST(the_nearest_group_that_hands_both_down_is_taken),
        FIND_TEST(one_controller_is_better_than_none_and_two_are_better_than_one),
        FIND_TEST(without_a_controller_of_use_there_is_no_place),
        FIND_TEST(controllers_are_switched_on_at_the_real_root_only_with_processes_in_it),
        FIND_TEST(a_group_by_hand_is_not_left_since_nobody_could_enter_it_again),
        FIND_TEST(a_delegated_service_in_which_we_are_alone_is_ours),
        FIND_TEST(a_service_that_systemd_splits_needs_controllers_only),
        FIND_TEST(what_systemd_manages_is_the_last_resort),
        FIND_TEST(a_delegated_unit_with_others_in_it_is_not_left),
        FIND_TEST(a_manager_below_a_delegated_unit_keeps_its_own_units),
        FIND_TEST(a_path_of_the_host_leads_to_what_is_mounted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
