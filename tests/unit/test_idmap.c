#include "sandbox/ids.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "confine/mounts.h"
#include "unit.h"

#define OWNER 4001
#define OTHER 4002
#define RUN 4003

static char dir[64];
static const struct ids ids = { .host_uid = RUN, .host_gid = RUN, .lock_fd = -1 };

static void make(const char *name, uid_t uid, bool is_dir)
{
    char path[100];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(is_dir ? mkdir(path, 0755) : mount_make_file(path, 0644, "", 0), 0);
    assert_int_equal(lchown(path, uid, uid), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sandbox-run-idmap.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    if (geteuid() != 0)
        return 0;
    assert_int_equal(chown(dir, OWNER, OWNER), 0);
    make("own", OWNER, false);
    make("other", OTHER, false);
    make("sub", OWNER, true);
    make("sub/deep", OWNER, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return tree_remove(AT_FDCWD, dir);
}

static struct stat stat_of(int tree, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static void only_the_owners_files_are_given_away(void **state)
{
    int tree = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat before, after;

    (void)state;
    if (geteuid() != 0)
        skip();
    before = stat_of(tree, "other");
    assert_int_equal(idmap_chown(&ids, tree), 0);
    after = stat_of(tree, "other");
    assert_int_equal(stat_of(tree, ".").st_uid, RUN);
    assert_int_equal(stat_of(tree, "own").st_uid, RUN);
    assert_int_equal(stat_of(tree, "own").st_gid, RUN);
    assert_int_equal(stat_of(tree, "sub/deep").st_uid, RUN);
    assert_int_equal(after.st_uid, OTHER);
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(after.st_ctim));
    close(tree);
}

/* On the host nothing changes; through the mount the owner is the run. */
static void owners_are_mapped_by_the_mount_alone(void **state)
{
    struct idmap map;
    int tree, again;

    (void)state;
    if (geteuid() != 0)
        skip();
    tree = mount_clone_top(AT_FDCWD, dir, ATTR_BIND);
    again = mount_clone_top(AT_FDCWD, dir, ATTR_BASE);
    if (tree < 0)
        skip(); /* root that may not mount */
    idmap_init(&map, &ids);
    if (idmap_tree(&map, tree, false) < 0)
        skip(); /* the file system maps none */
    assert_int_equal(stat_of(tree, "own").st_uid, RUN);
    assert_int_equal(stat_of(tree, "sub/deep").st_gid, RUN);
    assert_int_not_equal(stat_of(tree, "other").st_uid, RUN);
    assert_int_equal(stat_of(again, "own").st_uid, OWNER);
    assert_int_equal(idmap_tree(&map, again, true), 0); /* the same namespace once more */
    assert_int_equal(stat_of(again, "own").st_uid, RUN);
    idmap_done(&map);
    close(tree);
    close(again);
}

#define IDMAP_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IDMAP_TEST(only_the_owners_files_are_given_away),
        IDMAP_TEST(owners_are_mapped_by_the_mount_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
