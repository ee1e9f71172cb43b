#include "config/trust.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fixture.h"
#include "unit.h"

#define PROJECT "/home/me/project/.sandbox-run.yaml"
#define OTHER "/home/me/other/.sandbox-run.yaml"

static struct tree_place place;
static char first[SHA256_HEX_SIZE], second[SHA256_HEX_SIZE];

static int make_place(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    sha256_hex("first", 5, first);
    sha256_hex("second", 6, second);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    tree_place_remove(&place);
    return 0;
}

static void trust(const char *path, const char *digest)
{
    sbr_error err;

    assert_int_equal(trust_add(path, digest, &err), 0);
}

/* The only record of the state, relative to the place. */
static void record_of(const char *path, char *name, size_t size)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(path, strlen(path), hex);
    snprintf(name, size, "state/trust/%s", hex);
}

static void nothing_is_trusted_at_first_and_nothing_is_made(void **state)
{
    sbr_error err;

    (void)state;
    assert_false(trust_has(PROJECT, first));
    assert_int_equal(trust_revoke(PROJECT, &err), 0);
    assert_int_equal(faccessat(place.top_fd, "state", F_OK, 0), -1);
}

static void a_file_is_trusted_as_it_was(void **state)
{
    (void)state;
    trust(PROJECT, first);
    assert_true(trust_has(PROJECT, first));
    assert_false(trust_has(PROJECT, second));
    assert_false(trust_has(OTHER, first));
    trust(PROJECT, second);
    assert_true(trust_has(PROJECT, second));
    assert_false(trust_has(PROJECT, first));
}

static void what_is_revoked_is_not_trusted_any_more(void **state)
{
    sbr_error err;

    (void)state;
    trust(PROJECT, first);
    trust(OTHER, first);
    assert_int_equal(trust_revoke(PROJECT, &err), 1);
    assert_int_equal(trust_revoke(PROJECT, &err), 0);
    assert_false(trust_has(PROJECT, first));
    assert_true(trust_has(OTHER, first));
}

static void a_damaged_record_and_one_of_another_path_are_no_trust(void **state)
{
    char name[100], other[100];
    int fd;

    (void)state;
    trust(PROJECT, first);
    record_of(PROJECT, name, sizeof(name));
    record_of(OTHER, other, sizeof(other));
    assert_int_equal(renameat(place.top_fd, name, place.top_fd, other), 0);
    assert_false(trust_has(PROJECT, first));
    assert_false(trust_has(OTHER, first));
    trust(PROJECT, first);
    fd = openat(place.top_fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_false(trust_has(PROJECT, first));
}

static void a_state_that_others_can_write_to_is_no_trust(void **state)
{
    sbr_error err;

    (void)state;
    trust(PROJECT, first);
    assert_int_equal(fchmodat(place.top_fd, "state", 0777, 0), 0);
    assert_false(trust_has(PROJECT, first));
    assert_int_equal(trust_add(OTHER, first, &err), SBR_E_DENIED);
    assert_int_equal(trust_revoke(PROJECT, &err), SBR_E_DENIED);
}

struct seen {
    size_t n;
    bool project, other;
};

static void see(void *context, const struct trust_item *item)
{
    struct seen *seen = context;

    seen->n++;
    seen->project |= !strcmp(item->path, PROJECT) && !strcmp(item->digest, first);
    seen->other |= !strcmp(item->path, OTHER) && !strcmp(item->digest, second);
}

static void the_list_has_all_that_is_whole(void **state)
{
    struct seen seen = { 0 };
    sbr_error err;
    int fd;

    (void)state;
    assert_int_equal(trust_list(see, &seen, &err), 0);
    assert_int_equal(seen.n, 0);
    trust(PROJECT, first);
    trust(OTHER, second);
    fd = openat(place.top_fd, "state/trust/stray", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(trust_list(see, &seen, &err), 0);
    assert_int_equal(seen.n, 2);
    assert_true(seen.project && seen.other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_trusted_at_first_and_nothing_is_made),
        TEST(a_file_is_trusted_as_it_was),
        TEST(what_is_revoked_is_not_trusted_any_more),
        TEST(a_damaged_record_and_one_of_another_path_are_no_trust),
        TEST(a_state_that_others_can_write_to_is_no_trust),
        TEST(the_list_has_all_that_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
