#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree_remove.h"
#include "confine/mounts.h"
#include "unit.h"

static char dir[] = "/tmp/sandbox-run-mount-api.XXXXXX";
static int before = -1;

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sandbox-run-mount-api.XXXXXX");
    before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return before >= 0 && mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(fchdir(before), 0);
    close(before);
    return tree_remove(AT_FDCWD, dir);
}

static void assert_content(const char *path, const char *expected)
{
    char text[64];

    assert_true(fd_read_small(AT_FDCWD, path, text, sizeof(text)) >= 0);
    assert_string_equal(text, expected);
}

static void a_new_file_comes_with_its_directories(void **state)
{
    (void)state;
    assert_int_equal(mount_replace_file("work/a/b/file", 0644, "new", 3), 0);
    assert_content("work/a/b/file", "new");
    assert_int_equal(mount_replace_file("top", 0755, "", 0), 0);
    assert_int_equal(access("top", X_OK), 0);
}

static void what_has_the_name_is_replaced_and_not_written_to(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mount_make_file("old", 0444, "old", 3), 0);
    assert_int_equal(link("old", "twin"), 0);
    assert_int_equal(symlink("old", "link"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(mount_replace_file("old", 0644, "new", 3), 0);
    assert_int_equal(mount_replace_file("link", 0644, "own", 3), 0);
    assert_int_equal(mount_replace_file("pipe", 0644, "file", 4), 0);
    assert_content("twin", "old");
    assert_content("old", "new");
    assert_content("pipe", "file");
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

static void a_directory_is_not_replaced(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(mount_replace_file("d", 0644, "x", 1), -1);
    assert_int_equal(errno, EISDIR);
}

static void no_link_on_the_way_is_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(symlink("d", "link"), 0);
    assert_int_equal(mount_make_file("file", 0644, "", 0), 0);
    assert_int_equal(mount_replace_file("link/x", 0644, "x", 1), -1);
    assert_true(errno == ENOTDIR || errno == ELOOP);
    assert_int_equal(mount_replace_file("file/x", 0644, "x", 1), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(access("d/x", F_OK), -1);
}

static void a_long_name_is_refused(void **state)
{
    char path[300];

    (void)state;
    memset(path, 'a', sizeof(path));
    memcpy(path + sizeof(path) - 3, "/b", 3);
    assert_int_equal(mount_replace_file(path, 0644, "", 0), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

#define API_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(a_new_file_comes_with_its_directories),
        API_TEST(what_has_the_name_is_replaced_and_not_written_to),
        API_TEST(a_directory_is_not_replaced),
        API_TEST(no_link_on_the_way_is_followed),
        API_TEST(a_long_name_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
