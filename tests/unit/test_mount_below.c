#include <stdio.h>
#include <string.h>

#include "sandbox/mount_below.h"
#include "unit.h"

#define BEFORE "36 35 98:0 / "
#define AFTER " rw,noatime shared:1 - ext3 /dev/root rw\n"

static void a_mount_point_is_compared_by_whole_names(void **state)
{
    static const struct {
        const char *point, *path;
        bool below;
    } rows[] = {
        { "/srv/data", "/srv", true },
        { "/srv/data/deep", "/srv", true },
        { "/srv", "/srv", false },
        { "/srv2", "/srv", false },
        { "/srv2/x", "/srv", false },
        { "/", "/", false },
        { "/home", "/", true },
        { "/", "/srv", false },
        { "/a\\040b/c", "/a b", true },
        { "/a\\040b/c", "/a\\040b", false },
        { "/a\\134040b/c", "/a\\040b", true },
        { "/x\\", "/x", false },
    };
    char line[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(line, sizeof(line), BEFORE "%s" AFTER, rows[i].point);
        assert_int_equal(mount_line_is_below(line, rows[i].path), rows[i].below);
    }
}

static void a_line_that_is_cut_names_nothing(void **state)
{
    static const char whole[] = BEFORE "/srv/data" AFTER;
    char line[sizeof(whole)];

    (void)state;
    for (size_t len = 0; len < strlen(BEFORE); len++) {
        snprintf(line, sizeof(line), "%.*s", (int)len, whole);
        assert_false(mount_line_is_below(line, "/srv"));
    }
}

static void this_machine_has_mounts_below_its_root(void **state)
{
    (void)state;
    assert_true(mount_is_below("/"));
    assert_false(mount_is_below("/proc/self/fdinfo"));
    assert_true(mount_is_below("/no/such/directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mount_point_is_compared_by_whole_names),
        cmocka_unit_test(a_line_that_is_cut_names_nothing),
        cmocka_unit_test(this_machine_has_mounts_below_its_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
