#include "init/disk_usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "confine/mounts.h"
#include "unit.h"
#include "wire/control.h"

static char dir[64];
static struct plan *plan;
static struct inside in;

/* What bounds all of it is what is left of the file system that `scratch_fd` is on: here a large
 * one. */
static int scratch_fd;

static int set_up(void **state)
{
    static const struct plan_op op = { .kind = OP_BIND,
                                       .flags = OP_WRITABLE | OP_OWN,
                                       .to = "copy" };
    char path[80];
    sbr_error err;

    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sandbox-run-room.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/copy", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    plan = plan_new();
    plan->scratch_inodes = 100;
    assert_int_equal(plan_add_op(plan, op, &err), 0);
    in = (struct inside){ .plan = plan, .n_copies = 1 };
    in.root_fd = scratch_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    in.copies[0] = openat(in.root_fd, "copy", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return in.copies[0] < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(in.copies[0]);
    close(in.root_fd);
    plan_free(plan);
    return tree_remove(AT_FDCWD, dir);
}

static void put(const char *name)
{
    char path[120];

    snprintf(path, sizeof(path), "%s/copy/%s", dir, name);
    assert_int_equal(mount_make_file(path, 0644, "x", 1), 0);
}

static uint64_t bytes_left(void)
{
    struct statfs fs;

    assert_int_equal(fstatfs(scratch_fd, &fs), 0);
    return (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
}

static void what_was_in_a_copy_is_not_counted(void **state)
{
    struct disk_usage disk_usage;

    (void)state;
    put("before");
    disk_usage_init(&disk_usage, &in);
    assert_int_equal(disk_usage.n_trees, 1);
    assert_int_equal(disk_usage.trees[0].before.files, 1);
    assert_int_equal(disk_usage.n_devices, 1);
    assert_true(disk_usage.measured[0]);
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, 0), 0);
    disk_usage.trees[0].before.bytes = UINT64_MAX; /* it has become smaller */
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, 0), 0);
}

static void files_without_a_name_take_room_too(void **state)
{
    struct disk_usage disk_usage;

    (void)state;
    disk_usage_init(&disk_usage, &in);
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, bytes_left() * 2), DISK_BYTES_FULL);
}

static void what_hides_is_taken_for_too_much(void **state)
{
    char path[200] = "copy";
    struct disk_usage disk_usage;

    (void)state;
    for (size_t i = 0; i < 70; i++) { /* deeper than anybody looks */
        strcat(path, "/d");
        assert_int_equal(mkdirat(in.root_fd, path, 0700), 0);
    }
    disk_usage_init(&disk_usage, &in);
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, 0), 0); /* it was so before */
    disk_usage.trees[0].before.unseen = false;
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, 0), DISK_BYTES_FULL);
}

static void a_run_without_such_trees_measures_nothing(void **state)
{
    struct disk_usage disk_usage;

    (void)state;
    plan->ops[0].flags = OP_WRITABLE; /* a volume that is written through */
    in.n_copies = 0;
    disk_usage_init(&disk_usage, &in);
    assert_int_equal(disk_usage.n_trees, 0);
    assert_int_equal(disk_usage.n_devices, 1);
    assert_false(disk_usage.measured[0]);
    assert_int_equal(disk_usage_look(&disk_usage, scratch_fd, UINT64_MAX), 0);
    in.n_copies = 1;
}

#define ROOM_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM_TEST(what_was_in_a_copy_is_not_counted),
        ROOM_TEST(files_without_a_name_take_room_too),
        ROOM_TEST(what_hides_is_taken_for_too_much),
        ROOM_TEST(a_run_without_such_trees_measures_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
