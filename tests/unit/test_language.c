#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/language.h"

/* What the lookup should find: a name, or NULL for no language. */
struct expectation {
    const char *text;
    const char *name;
};

typedef const struct language *lookup(const char *text);

static void assert_found(lookup *find, const struct expectation *rows)
{
    for (; rows->text; rows++) {
        const struct language *found = find(rows->text);

        if (!rows->name && found)
            fail_msg("'%s' should be nothing, not %s", rows->text, found->name);
        if (rows->name && (!found || strcmp(found->name, rows->name) != 0))
            fail_msg("'%s' should be %s, not %s", rows->text, rows->name,
                     found ? found->name : "nothing");
    }
}

static const struct language *for_line(const char *line)
{
    return language_for_shebang(line, strlen(line));
}

static void a_language_is_found_by_its_name_and_by_every_alias(void **state)
{
    static const struct expectation rows[] = {
        { "python", "python" }, { "python3", "python" }, { "py", "python" },
        { "bash", "bash" },     { "sh", "sh" },          { "", NULL },
        { "Python", NULL },     { "pytho", NULL },       { "python33", NULL },
        { ".py", NULL },        { "py@3.11", "python" }, { "@3", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(language_find, rows);
}

static void the_last_suffix_of_a_file_decides(void **state)
{
    static const struct expectation rows[] = {
        { "main.py", "python" },
        { "/work/dir.sh/main.py", "python" },
        { "archive.tar.py", "python" },
        { "run.sh", "sh" },
        { "run.bash", "bash" },
        { "main.PY", NULL },
        { "main.py.txt", NULL },
        { "main.", NULL },
        { "main", NULL },
        { "py", NULL },
        { ".py", NULL },
        { "dir/.py", NULL },
        { "dir.py/main", NULL },
        { "dir.py/", NULL },
        { "", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(language_for_extension, rows);
}

static void the_interpreter_of_a_shebang_decides(void **state)
{
    static const struct expectation rows[] = {
        { "#!/usr/bin/python3\n", "python" },
        { "#!/usr/bin/python3", "python" },
        { "#! /usr/bin/python3 -u\nprint(1)\n", "python" },
        { "#!/bin/bash -e\n", "bash" },
        { "#!/bin/sh\r\n", "sh" },
        { "#!/bin/dash\n", "sh" },
        { "#!python\n", "python" },
        { "#!/bin/fish\n", NULL },
        { "#!/bin/bashful\n", NULL },
        { "#!/bin/ba\n", NULL },
        { "#!/bin/bash/\n", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(for_line, rows);
}

static void env_is_looked_through(void **state)
{
    static const struct expectation rows[] = {
        { "#!/usr/bin/env python3\n", "python" },
        { "#!/usr/bin/env -S python3 -u\n", "python" },
        { "#!/usr/bin/env -Spython3 -u\n", "python" },
        { "#!/usr/bin/env -i bash\n", "bash" },
        { "#!/usr/bin/env -S -u HOME LANG=C /bin/bash -e\n", "bash" },
        { "#!\t/bin/env\tsh\t\n", "sh" },
        { "#!/usr/bin/env\n", NULL },
        { "#!/usr/bin/env -S\n", NULL },
        { "#!/usr/bin/env -u\n", NULL },
        { "#!/usr/bin/env A=1\n", NULL },
        { "#!/usr/bin/env env\n", NULL },
        { "#!/usr/bin/environment python3\n", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(for_line, rows);
}

static void a_minor_version_belongs_to_its_major_version(void **state)
{
    static const struct expectation rows[] = {
        { "#!/usr/bin/python3.11\n", "python" },
        { "#!/usr/bin/env python3.11.2\n", "python" },
        { "#!/usr/bin/python2\n", NULL },
        { "#!/usr/bin/python2.7\n", NULL },
        { "#!/usr/bin/python33\n", NULL },
        { "#!/usr/bin/python3.\n", NULL },
        { "#!/usr/bin/python3.11.\n", NULL },
        { "#!/usr/bin/python3..1\n", NULL },
        { "#!/usr/bin/python3.x\n", NULL },
        { "#!/usr/bin/python3-config\n", NULL },
        { "#!/bin/bash.5\n", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(for_line, rows);
}

static void a_line_that_is_no_shebang_names_nothing(void **state)
{
    static const struct expectation rows[] = {
        { "", NULL },
        { "#", NULL },
        { "#!", NULL },
        { "#!\n/usr/bin/python3\n", NULL },
        { "#! \t \n", NULL },
        { "# !/usr/bin/python3\n", NULL },
        { " #!/usr/bin/python3\n", NULL },
        { "/usr/bin/python3\n", NULL },
        { NULL, NULL },
    };

    (void)state;
    assert_found(for_line, rows);
    assert_null(language_for_shebang(NULL, 0));
}

static void a_shebang_is_never_read_past_its_length(void **state)
{
    static const char line[] = "#!/usr/bin/python3";

    (void)state;
    assert_null(language_for_shebang(line, 2));
    assert_null(language_for_shebang(line, 10));
    assert_non_null(language_for_shebang(line, sizeof(line) - 2)); /* python */
    assert_non_null(language_for_shebang(line, sizeof(line) - 1)); /* python3 */
    assert_null(language_for_shebang("#!/bin/sh\0x", 11));
}

static void the_table_is_sorted_and_complete(void **state)
{
    (void)state;
    for (const struct language *const *l = language_table; *l; l++) {
        assert_true(l[1] == NULL || strcmp(l[0]->name, l[1]->name) < 0);
        assert_non_null((*l)->about);
        assert_non_null((*l)->package);
        assert_true((*l)->mains.n > 0);
        assert_true((*l)->binaries.n > 0);
        assert_true((*l)->run.n > 0);
        assert_int_equal((*l)->drivers.n, (*l)->driver_texts.n);
        assert_non_null((*l)->selftest.code);
        assert_non_null((*l)->selftest.stdout_text);
        assert_ptr_equal(language_find((*l)->name), *l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_is_found_by_its_name_and_by_every_alias),
        cmocka_unit_test(the_last_suffix_of_a_file_decides),
        cmocka_unit_test(the_interpreter_of_a_shebang_decides),
        cmocka_unit_test(env_is_looked_through),
        cmocka_unit_test(a_minor_version_belongs_to_its_major_version),
        cmocka_unit_test(a_line_that_is_no_shebang_names_nothing),
        cmocka_unit_test(a_shebang_is_never_read_past_its_length),
        cmocka_unit_test(the_table_is_sorted_and_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
