#include "work/case_denials.h"

#include <string.h>

#include "unit.h"

static const struct {
    const char *message;
    enum case_outcome outcome;
    const char *denial; /* a part of it; NULL: none is noted */
} rows[] = {
    { "OSError: [Errno 101] Network is unreachable: 192.0.2.7", CASE_FAILED, "192.0.2.7:443" },
    { "connect ENETUNREACH", CASE_BROKEN, "--network allow" },
    { "lookup db.example: no such host", CASE_FAILED, "db.example" },
    { "PermissionError: [Errno 1] Operation not permitted", CASE_FAILED, "ptrace" },
    { "std::bad_alloc", CASE_FAILED, NULL }, /* no denial of memory was noted */
    { "OSError: [Errno 28] No space left on device", CASE_FAILED, "--disk" },
    { "termios.error: (25, 'Inappropriate ioctl for device')", CASE_FAILED, "--tty" },
    { "*** Please tell me who you are.", CASE_FAILED, "GIT_AUTHOR_NAME" },
    { "ConnectionRefusedError: [Errno 111] Connection refused", CASE_FAILED, "localhost:PORT" },
    { "assert 1 == 2", CASE_FAILED, NULL },
    { "FileNotFoundError: no such file", CASE_FAILED, NULL }, /* which is no ENOTFOUND */
    { "Network is unreachable", CASE_SKIPPED, NULL },
    { NULL, CASE_FAILED, NULL },
};

static void fill(struct denials *denials)
{
    denials_note(denials, DENIAL_CONNECT, "network: none", "--network allow --allow-host HOST",
                 "%s", "198.51.100.1:80");
    denials_note(denials, DENIAL_CONNECT, "network: none", "--allow-host 192.0.2.7", "%s",
                 "192.0.2.7:443");
    denials_note(denials, DENIAL_NAME, "network: none", "--allow-host db.example", "%s",
                 "db.example");
    denials_note(denials, DENIAL_SYSCALL, "default.yaml: debug", "", "%s", "ptrace(16)");
    denials_note(denials, DENIAL_DISK, "limits: disk 4g", "--disk 8g", "%s", "/work");
}

static void a_failure_has_the_denial_that_its_message_shows(void **state)
{
    struct denials denials = { 0 };
    struct report report = { 0 };
    sbr_error err = { 0 };

    (void)state;
    fill(&denials);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct report_case *c = test_report_add(&report, "group", "case", &err);

        assert_non_null(c);
        c->outcome = rows[i].outcome;
        if (rows[i].message)
            assert_int_equal(test_report_set_message(&report, c, rows[i].message,
                                                     strlen(rows[i].message), &err),
                             0);
    }
    assert_int_equal(case_denials_note(&report, &denials, NULL, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *found = report.cases[i].denial;

        if (!rows[i].denial != !found || (found && !strstr(found, rows[i].denial)))
            fail_msg("row %zu has the denial '%s'", i, found ? found : "none");
    }
    test_report_done(&report);
    denials_done(&denials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_the_denial_that_its_message_shows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
