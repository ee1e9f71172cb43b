#include "changes/setid.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "unit.h"

static char room[40];
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    snprintf(room, sizeof(room), "/tmp/test_setid.XXXXXX");
    assert_non_null(mkdtemp(room));
    assert_int_equal(chmod(room, 02755), 0); /* means nothing, of a directory */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return tree_remove(AT_FDCWD, room);
}

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/%s", room, name);
    return path;
}

static void make(const char *name, mode_t mode)
{
    scoped_fd int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

/* Where the bits are not honoured there is nothing to find. */
static void need_honoured_bits(void)
{
    struct statvfs fs;

    assert_int_equal(statvfs(room, &fs), 0);
    if (fs.f_flag & ST_NOSUID)
        skip();
}

static void assert_found(const char *source, const char *part)
{
    assert_refused(setid_look(source, &err), &err, SBR_E_DENIED, part);
}

static void assert_fine(void)
{
    assert_int_equal(setid_look(room, &err), 0);
}

static void ordinary_trees_are_fine(void **state)
{
    (void)state;
    make("file", 0644);
    make("program", 0755);
    make("marked", 02644); /* the group cannot run it */
    assert_int_equal(mkdir(path_of("dir"), 0755), 0);
    assert_int_equal(chmod(path_of("dir"), 03777), 0);
    make("dir/file", 0600);
    assert_int_equal(symlink("/usr/bin/passwd", path_of("link")), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_fine();
}

static void a_set_id_file_is_found(void **state)
{
    (void)state;
    need_honoured_bits();
    make("file", 0644);
    make("suid", 04755);
    assert_found(room, "'suid'");
    assert_found(path_of("suid"), "set-id file 'suid'");
    assert_int_equal(setid_look(path_of("file"), &err), 0);
    assert_int_equal(chmod(path_of("suid"), 02710), 0);
    assert_found(room, "'suid'");
    assert_int_equal(chmod(path_of("suid"), 0710), 0);
    assert_fine();
}

static void it_is_found_below(void **state)
{
    (void)state;
    need_honoured_bits();
    assert_int_equal(mkdir(path_of("a"), 0755), 0);
    assert_int_equal(mkdir(path_of("a/b"), 0755), 0);
    assert_int_equal(mkdir(path_of("a/c"), 0755), 0);
    make("a/b/suid", 04711);
    assert_found(room, "'a/b/suid'");
}

static void what_cannot_be_written_stays(void **state)
{
    (void)state;
    need_honoured_bits();
    make("suid", 04555); /* to get the right to write is to lose the bit */
    assert_fine();
    assert_int_equal(chmod(path_of("suid"), 04575), 0);
    assert_found(room, "'suid'");
}

static void a_file_with_capabilities_is_found(void **state)
{
    /* cap_net_raw, permitted; version 2 */
    static const unsigned char raw[20] = { 0, 0, 0, 2, 0, 0x20 };

    (void)state;
    need_honoured_bits();
    make("capable", 0755);
    if (setxattr(path_of("capable"), "security.capability", raw, sizeof(raw), 0) < 0)
        skip(); /* only root can, and not on every file system */
    assert_found(room, "capabilities 'capable'");
    assert_int_equal(chmod(path_of("capable"), 0555), 0); /* a new mode leaves them */
    assert_found(room, "capabilities 'capable'");
    assert_int_equal(chmod(path_of("capable"), 0400), 0);
    assert_found(room, "capabilities 'capable'");
}

static void what_the_owner_locked_is_not_taken_for_empty(void **state)
{
    (void)state;
    need_honoured_bits();
    assert_int_equal(mkdir(path_of("locked"), 0700), 0);
    make("locked/suid", 04755);
    assert_int_equal(chmod(path_of("locked"), 0), 0);
    assert_found(room, geteuid() == 0 ? "'locked/suid'" : "'locked'");
}

static void too_deep_is_refused(void **state)
{
    scoped_fd int at = open(room, O_PATH | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    need_honoured_bits();
    for (int i = 0; i < 300; i++) {
        int below;

        assert_int_equal(mkdirat(at, "d", 0755), 0);
        below = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        close(at);
        at = below;
    }
    assert_found(room, "too deep");
}

#define SETID_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SETID_TEST(ordinary_trees_are_fine),
        SETID_TEST(a_set_id_file_is_found),
        SETID_TEST(it_is_found_below),
        SETID_TEST(what_cannot_be_written_stays),
        SETID_TEST(a_file_with_capabilities_is_found),
        SETID_TEST(what_the_owner_locked_is_not_taken_for_empty),
        SETID_TEST(too_deep_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
