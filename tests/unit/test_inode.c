#include "base/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "unit.h"

/* A directory that others write to, and beside it a file of ours that they have no right to change.
 * */
static char room[32];
static int dir;

static int set_up(void **state)
{
    (void)state;
    snprintf(room, sizeof(room), "/tmp/test_seen.XXXXXX");
    assert_non_null(mkdtemp(room));
    dir = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(dir);
    return tree_remove(AT_FDCWD, room);
}

static void make(const char *name, mode_t mode)
{
    scoped_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static struct stat look(const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static mode_t mode_of(const char *name)
{
    return look(name).st_mode & 07777;
}

static void what_was_seen_is_opened(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0640);
    st = look("file");
    {
        scoped_fd int fd = inode_open(dir, "file", O_RDONLY, &st);

        assert_true(fd >= 0);
    }
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void another_file_of_that_name_is_not_opened(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0600);
    make("other", 0600);
    st = look("file");
    assert_int_equal(renameat(dir, "other", dir, "file"), 0);
    assert_int_equal(inode_open(dir, "file", O_RDONLY, &st), -1);
    assert_int_equal(errno, ESTALE);
}

static void a_link_in_its_place_is_not_followed(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0600);
    make("secret", 0600);
    st = look("file");
    assert_int_equal(unlinkat(dir, "file", 0), 0);
    assert_int_equal(symlinkat("secret", dir, "file"), 0);
    assert_int_equal(inode_open(dir, "file", O_RDONLY, &st), -1);
}

/* Its mode is what the link's target would have got. */
static void no_mode_is_changed_through_a_link(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0377);
    make("secret", 0600);
    st = look("file");
    assert_int_equal(renameat(dir, "file", dir, "away"), 0);
    assert_int_equal(symlinkat("secret", dir, "file"), 0);
    assert_int_equal(inode_open_locked(dir, "file", O_RDONLY, 0400, &st), -1);
    assert_int_equal(mode_of("secret"), 0600);
    assert_int_equal(mode_of("away"), 0377);
    st = look("file"); /* also when the link itself was seen */
    assert_int_equal(inode_open_locked(dir, "file", O_RDONLY, 0400, &st), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(mode_of("secret"), 0600);
}

static void no_mode_of_another_file_is_changed(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0377);
    make("other", 0200);
    st = look("file");
    assert_int_equal(renameat(dir, "other", dir, "file"), 0);
    assert_int_equal(inode_open_locked(dir, "file", O_RDONLY, 0400, &st), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(mode_of("file"), 0200);
}

static void a_locked_file_is_opened_with_all_its_bits(void **state)
{
    struct stat st;

    (void)state;
    make("file", 04311);
    st = look("file");
    {
        scoped_fd int fd = inode_open_locked(dir, "file", O_RDONLY, 0400, &st);

        assert_true(fd >= 0);
        assert_int_equal(mode_of("file"), 04711);
        assert_int_equal(st.st_mode & 07777, 04311);
        assert_int_equal(inode_chmod(fd, st.st_mode & 07777), 0);
    }
    assert_int_equal(mode_of("file"), 04311);
}

static void a_locked_directory_is_walked_through(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mkdirat(dir, "locked", 0), 0);
    st = look("locked");
    {
        scoped_fd int fd = inode_open_locked(dir, "locked", O_PATH | O_DIRECTORY, 0500, &st);

        assert_true(fd >= 0);
        assert_int_equal(mode_of("locked"), 0500);
        assert_int_equal(inode_chmod(fd, 0), 0);
    }
    assert_int_equal(mode_of("locked"), 0);
}

static void what_cannot_be_opened_keeps_its_mode(void **state)
{
    struct stat st;

    (void)state;
    make("file", 0200);
    st = look("file");
    assert_int_equal(inode_open_locked(dir, "file", O_RDONLY | O_DIRECTORY, 0500, &st), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(mode_of("file"), 0200);
}

#define SEEN_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEEN_TEST(what_was_seen_is_opened),
        SEEN_TEST(another_file_of_that_name_is_not_opened),
        SEEN_TEST(a_link_in_its_place_is_not_followed),
        SEEN_TEST(no_mode_is_changed_through_a_link),
        SEEN_TEST(no_mode_of_another_file_is_changed),
        SEEN_TEST(a_locked_file_is_opened_with_all_its_bits),
        SEEN_TEST(a_locked_directory_is_walked_through),
        SEEN_TEST(what_cannot_be_opened_keeps_its_mode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
