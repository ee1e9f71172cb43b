/* What is kept for tenants: who holds most gives way first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/execution.h"

#define MIB_BYTES ((size_t)1 << 20)
#define THINGS 6000

struct thing {
    struct link link;
    const char *tenant;
    size_t bytes;
    bool used, gone;
};

static struct thing things[THINGS];
static struct link list;
static size_t n_things;

static struct kept look(const struct link *at)
{
    const struct thing *thing = link_owner(at, struct thing, link);

    assert_false(thing->gone);
    return (struct kept){ thing->used ? NULL : thing->tenant, thing->bytes };
}

static void forget(struct link *at, void *context)
{
    (void)context;
    link_owner(at, struct thing, link)->gone = true;
    link_remove(at);
}

static const struct kept_pool pool = { &list, look, forget, NULL };

static int begin(void **state)
{
    (void)state;
    memset(things, 0, sizeof(things));
    n_things = 0;
    link_init(&list);
    return 0;
}

static void add(const char *tenant, size_t n, size_t bytes)
{
    while (n-- > 0) {
        struct thing *thing = &things[n_things++];

        *thing = (struct thing){ .tenant = tenant, .bytes = bytes };
        list_append(&list, &thing->link);
    }
}

static size_t left_of(const char *tenant)
{
    size_t n = 0;

    for (size_t i = 0; i < n_things; i++)
        n += !strcmp(things[i].tenant, tenant) && !things[i].gone;
    return n;
}

static void keeps_what_fits(void **state)
{
    (void)state;
    add("a", 4096, 65536);
    kept_share_trim(&pool);
    assert_int_equal(left_of("a"), 4096);
}

static void takes_the_oldest_of_who_has_most(void **state)
{
    (void)state;
    add("b", 10, 1);
    add("a", 5000, 1);
    add("b", 10, 1);
    kept_share_trim(&pool);
    assert_int_equal(left_of("b"), 20);
    assert_int_equal(left_of("a"), 4076);
    assert_true(things[10].gone);
    assert_false(things[5009].gone);
}

static void levels_two_that_have_much(void **state)
{
    (void)state;
    add("a", 3000, 1);
    add("b", 2500, 1);
    add("c", 1, 1);
    kept_share_trim(&pool);
    assert_int_equal(left_of("a") + left_of("b"), 4095);
    assert_in_range(left_of("a"), 2047, 2048);
    assert_int_equal(left_of("c"), 1);
}

/* Few large results beside many small ones of another. */
static void counts_bytes_where_they_are_too_many(void **state)
{
    (void)state;
    add("small", 1000, 1);
    add("large", 70, 4 * MIB_BYTES);
    kept_share_trim(&pool);
    assert_int_equal(left_of("small"), 1000);
    assert_int_equal(left_of("large"), 63);
}

/* What is in use neither goes nor takes the place of others. */
static void leaves_what_is_in_use(void **state)
{
    (void)state;
    add("b", 10, 1);
    add("a", 5000, 1);
    for (size_t i = 10; i < n_things; i++)
        things[i].used = true;
    kept_share_trim(&pool);
    assert_int_equal(left_of("a"), 5000);
    assert_int_equal(left_of("b"), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(keeps_what_fits, begin),
        cmocka_unit_test_setup(takes_the_oldest_of_who_has_most, begin),
        cmocka_unit_test_setup(levels_two_that_have_much, begin),
        cmocka_unit_test_setup(counts_bytes_where_they_are_too_many, begin),
        cmocka_unit_test_setup(leaves_what_is_in_use, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
