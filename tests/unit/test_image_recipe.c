#include "lib/image_making.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static void every_image_that_we_ship_is_read_and_pinned(void **state)
{
    const char *name;
    size_t n = 0;

    (void)state;
    for (; (name = image_recipe_name(n)); n++) {
        struct image_recipe *recipe = NULL;
        unsigned int pinned = 0;
        sbr_error err = { 0 };

        assert_int_equal(image_recipe_load(name, &recipe, &err), 0);
        for (unsigned int i = 0; i < recipe->packages_count; i++)
            pinned += strchr(recipe->packages[i], '=') != NULL;
        assert_true(pinned > 0);
        for (unsigned int i = 0; i < recipe->deps_count; i++)
            assert_non_null(strpbrk(recipe->deps[i] + 1, "@:"));
        image_recipe_free(recipe);
    }
    assert_int_equal(n, 5);
}

static void what_is_no_recipe_is_refused_in_one_sentence(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "packages: []", "packages" },
        { "packages: [--yes]", "is no package" },
        { "packages: [a]\nlinks: [/etc/x y]", "is no link" },
        { "packages: [a]\nlinks: [x ../y]", "is no link" },
        { "packages: [a]\ndeps: [x]", "packages of a 'language'" },
        { "packages: [a]\nlanguage: go", "packages of a 'language'" },
        { "packages: [a]\nlanguage: py\ndeps: [x]", "write 'python'" },
        { "packages: [a]\nlanguage: ../etc\ndeps: [x]", "../etc" },
        { "packages: [a]\nlanguage: sql\ndeps: [x]", "no package registry" },
        { "packages: [a]\nstrange: 1", "strange" },
    };
    char path[] = "/tmp/sbr-recipe-XXXXXX.yaml";
    int fd = mkstemps(path, 5);

    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct image_recipe *recipe = NULL;
        sbr_error err = { 0 };

        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, rows[i].text, strlen(rows[i].text), 0),
                         (int)strlen(rows[i].text));
        assert_true(image_recipe_load(path, &recipe, &err) < 0);
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s: %s", rows[i].text, err.message);
        image_recipe_free(recipe);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_that_we_ship_is_read_and_pinned),
        cmocka_unit_test(what_is_no_recipe_is_refused_in_one_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
