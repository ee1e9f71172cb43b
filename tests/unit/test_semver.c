/* Selectors of versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "dialect/catalog.h"

static const struct {
    const char *version, *selector;
    bool matches;
} cases[] = {
    { "3.11.2", "*", true },
    { "3.11.2", "", true },
    { "3.11.2", "3", true },
    { "3.11.2", "3.x", true },
    { "3.11.2", "3.11.X", true },
    { "3.11.2", "3.11.2", true },
    { "3.11.2", "v3.11", true },
    { "3.11.2", "3.1", false },
    { "3.11.2", "2.x", false },
    { "3.11.2", "^3.9", true },
    { "3.11.2", "^3.12", false },
    { "4.0.0", "^3.9", false },
    { "0.2.9", "^0.2.3", true },
    { "0.3.0", "^0.2.3", false },
    { "3.11.2", "~3.11.1", true },
    { "3.12.0", "~3.11.1", false },
    { "3.11.2", ">=3.9 <4", true },
    { "3.11.2", ">=3.9 <3.11", false },
    { "3.11.2", ">3.11", false },
    { "3.11.2", "<=3.11.2", true },
    { "3.11.2", "latest", true },
    { "3.11.2", "three", false },
    { "3.11.2", ">>>3", false },
    { "3.11.2", "3.11.2.1", true },
    { "12.2.0", "12.2.0-14", true },
    { "", "*", true },
    { "", "3", false },
};

static void selects(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (semver_matches(cases[i].version, cases[i].selector) != cases[i].matches)
            fail_msg("%s by %s", cases[i].version, cases[i].selector);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(selects) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
