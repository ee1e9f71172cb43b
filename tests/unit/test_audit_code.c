#include "config/audit_chain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

static void the_digest_of_a_cell_is_that_of_its_text(void **state)
{
    const struct audit_program cell = {
        .language = "python", .code = "abc", .code_len = 3, .is_cell = true
    };
    char digest[SHA256_HEX_SIZE], *line;

    (void)state;
    audit_program_digest(&cell, digest);
    assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    line = audit_program_line(&cell, digest);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"cell\":\"YWJj\""));
    free(line);
}

static void programs_that_differ_in_one_part_have_other_digests(void **state)
{
    static char a[] = "a", one[] = "1", *words[] = { a, NULL };
    const struct request_file file = { .path = a, .data = one, .len = 1 };
    const struct audit_program programs[] = {
        { .language = "sh" },
        { .language = "sh", .code = "a", .code_len = 1 },
        { .language = "sh", .files = &file, .n_files = 1 },
        { .language = "sh", .program = "a" },
        { .language = "sh", .program = "a", .program_data = one, .program_len = 1 },
        { .args = { .items = words, .n = 1 } },
    };
    char digests[ARRAY_LEN(programs)][SHA256_HEX_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        audit_program_digest(&programs[i], digests[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(digests[i], digests[k]);
    }
}

static void a_program_above_the_bound_has_no_line(void **state)
{
    struct audit_program program = { .code_len = AUDIT_CODE_MAX + 1 };
    char *line;

    (void)state;
    assert_null(audit_program_line(&program, "0"));
    program.code = calloc(1, AUDIT_CODE_MAX);
    program.code_len = AUDIT_CODE_MAX;
    line = audit_program_line(&program, "0");
    assert_non_null(line);
    free(line);
    free((char *)program.code);
}

static void a_torn_line_is_closed_by_the_next_one(void **state)
{
    char folder[] = "/tmp/test_audit_code.XXXXXX", *text;
    sbr_error err;
    size_t len;
    int dir, fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(audit_code_append(dir, "{\"a\":1}", &err), 0);
    fd = openat(dir, AUDIT_CODE_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "{\"b", 3), 3);
    close(fd);
    assert_int_equal(audit_code_append(dir, "{\"c\":1}", &err), 0);
    fd = openat(dir, AUDIT_CODE_NAME, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd_read_text(fd, 100, &text, &len, &err), 0);
    assert_string_equal(text, "{\"a\":1}\n{\"b\n{\"c\":1}\n");
    free(text);
    close(fd);
    assert_int_equal(unlinkat(dir, AUDIT_CODE_NAME, 0), 0);
    close(dir);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_of_a_cell_is_that_of_its_text),
        cmocka_unit_test(programs_that_differ_in_one_part_have_other_digests),
        cmocka_unit_test(a_program_above_the_bound_has_no_line),
        cmocka_unit_test(a_torn_line_is_closed_by_the_next_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
