/* What interpreters, runtimes and tools really print, held against the plan of a Python program. */
#include "explain/denial_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan_fixture.h"
#include "unit.h"

#define READ_ONLY "stderr: root: /usr is read-only"
#define CLOSED READ_ONLY ", or the file is closed to the user inside"
#define ABSENT "stderr: root: not in the sandbox"
#define VOLUME "--volume /home/me/data.csv:/home/me/data.csv:ro"

struct row {
    const char *line, *target, *rule, *remedy; /* target NULL: no refusal of ours */
};

static struct plan *make_plan(void)
{
    struct plan_case c;
    struct plan *plan;

    plan_case_init(&c);
    plan = plan_case_make(&c);
    plan_case_done(&c);
    return plan;
}

static void look(const char *text, size_t len, struct denials *ret)
{
    struct plan *plan = make_plan();

    denial_text(plan, text, len, ret);
    plan_free(plan);
}

static void assert_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct denials d = { 0 };

        look(rows[i].line, strlen(rows[i].line), &d);
        if (!rows[i].target && d.n)
            fail_msg("'%s' is no refusal, but: %s", rows[i].line, d.items[0].target);
        if (rows[i].target && d.n != 1)
            fail_msg("'%s' gave %zu", rows[i].line, d.n);
        if (rows[i].target) {
            assert_int_equal(d.items[0].kind, DENIAL_FILE);
            assert_string_equal(d.items[0].target, rows[i].target);
            assert_string_equal(d.items[0].rule, rows[i].rule);
        }
        if (rows[i].remedy)
            assert_string_equal(d.items[0].remedy, rows[i].remedy);
        denials_done(&d);
    }
}

static void what_cannot_be_written_is_found_in_every_language(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { "PermissionError: [Errno 13] Permission denied: '/usr/x'", "/usr/x", CLOSED, "write below /work or /tmp" },
        { "OSError: [Errno 30] Read-only file system: '/usr/x'", "/usr/x", READ_ONLY, NULL },
        { "Error: EACCES: permission denied, open '/usr/x'", "/usr/x", CLOSED, NULL },
        { "Error: EROFS: read-only file system, mkdir '/usr/x y'", "/usr/x y", READ_ONLY, NULL },
        { "panic: open /usr/x: permission denied", "/usr/x", CLOSED, NULL },
        { "2026/11/15 10:00:00 mkdir /usr/x: read-only file system", "/usr/x", READ_ONLY, NULL },
        { "cannot write /usr/x: Permission denied (os error 13)", "/usr/x", CLOSED, NULL },
        { "Exception in thread \"main\" java.io.FileNotFoundException: /usr/x (Permission denied)", "/usr/x", CLOSED, NULL },
        { "java.nio.file.AccessDeniedException: /usr/x", "/usr/x", CLOSED, NULL },
        { "java.nio.file.FileSystemException: /usr/x: Read-only file system", "/usr/x", READ_ONLY, NULL },
        { "/work/main.rb:1:in `initialize': Permission denied @ rb_sysopen - /usr/x (Errno::EACCES)", "/usr/x", CLOSED, NULL },
        { "Can't open '/usr/x': Permission denied at /work/main.pl line 3.", "/usr/x", CLOSED, NULL },
        { "PHP Warning:  fopen(/usr/x): Failed to open stream: Permission denied in /work/main.php on line 2", "/usr/x", CLOSED, NULL },
        { "bash: line 1: /usr/x: Read-only file system", "/usr/x", READ_ONLY, NULL },
        { "/bin/sh: 1: cannot create /usr/x: Permission denied", "/usr/x", CLOSED, NULL },
        { "touch: cannot touch '/usr/x': Read-only file system", "/usr/x", READ_ONLY, NULL },
        { "mkdir: cannot create directory \xe2\x80\x98/usr/x\xe2\x80\x99: Permission denied", "/usr/x", CLOSED, NULL },
        { "mv: cannot move '/work/a' to '/usr/b': Permission denied", "/usr/b", CLOSED, NULL },
        { "/usr/bin/ld: cannot open output file /usr/x: Permission denied", "/usr/x", CLOSED, NULL },
        { "filesystem error: cannot create directory: Permission denied [/usr/x]", "/usr/x", CLOSED, NULL },
        { "/usr/x: openFile: permission denied (Permission denied)", "/usr/x", CLOSED, NULL },
        { "Fatal error: exception Sys_error(\"/usr/x: Permission denied\")", "/usr/x", CLOSED, NULL },
        { "Access to the path '/usr/x' is denied.", "/usr/x", CLOSED, NULL },
        { "couldn't open \"/usr/x\": permission denied", "/usr/x", CLOSED, NULL },
        { "touch: cannot touch '/bin/x': Read-only file system", "/bin/x", "stderr: root: /bin is read-only", NULL },
        { "mkdir: cannot create directory '/new': Read-only file system", "/new", "stderr: root: / is read-only", NULL },
        { "sh: 1: cannot create /proc/sys/x: Permission denied", "/proc/sys/x",
          "stderr: root: /proc is read-only, or the file is closed to the user inside", NULL },
        { "chmod: changing permissions of '/etc/passwd': Operation not permitted", "/etc/passwd",
          "stderr: root: /etc is read-only, or the file is closed to the user inside", NULL },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void a_refused_port_of_loopback_is_the_sandboxs_own(void **state)
{
    static const char *const lines[] = {
        "curl: (7) Failed to connect to 127.0.0.1 port 8765 after 0 ms: Couldn't connect to server",
        "Error: connect ECONNREFUSED 127.0.0.1:8765",
        "dial tcp [::1]:8765: connect: connection refused",
        "requests: HTTPConnectionPool(host='localhost', port=8765): Connection refused",
    };
    static const char *const others[] = { "Connection refused", "connection refused: 192.0.2.1:80",
                                          "127.0.0.1:8765 is my address" };
    struct plan *plan = make_plan();

    (void)state;
    plan->network = NETWORK_FULL;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct denials d = { 0 };

        denial_text(plan, lines[i], strlen(lines[i]), &d);
        if (d.n != 1)
            fail_msg("'%s' gave %zu", lines[i], d.n);
        assert_string_equal(d.items[0].remedy, "--allow-host localhost:8765");
        denials_done(&d);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct denials d = { 0 };

        denial_text(plan, others[i], strlen(others[i]), &d);
        assert_int_equal(d.n, 0);
    }
    plan_free(plan);
}

static void what_is_not_in_the_tree_is_found(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { "FileNotFoundError: [Errno 2] No such file or directory: '/home/me/data.csv'", "/home/me/data.csv", ABSENT, VOLUME },
        { "Error: ENOENT: no such file or directory, open '/home/me/data.csv'", "/home/me/data.csv", ABSENT, VOLUME },
        { "open /home/me/data.csv: no such file or directory", "/home/me/data.csv", ABSENT, VOLUME },
        { "java.nio.file.NoSuchFileException: /home/me/data.csv", "/home/me/data.csv", ABSENT, VOLUME },
        { "Could not find a part of the path '/home/me/data.csv'.", "/home/me/data.csv", ABSENT, VOLUME },
        { "sh: 1: cannot open /home/me/data.csv: No such file", "/home/me/data.csv", ABSENT, VOLUME },
        { "cat: /root/.ssh/id: No such file or directory", "/root/.ssh/id", ABSENT, NULL },
        { "cat: '/home/me/my data': No such file or directory", "/home/me/my data", ABSENT, "bring it in with --volume or --file" },
        { "cat: '/x;rm -rf ~': No such file or directory", "/x;rm -rf ~", ABSENT, "bring it in with --volume or --file" },
        { "cat: /home/a:b: No such file or directory", "/home/a:b", ABSENT, "bring it in with --volume or --file" },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void what_the_sandbox_did_not_refuse_is_left_alone(void **state)
{
    static const char *const lines[] = {
        "PermissionError: [Errno 13] Permission denied: '/work/locked'",
        "bash: line 1: /tmp/script: Permission denied",
        "cat: /dev/shm/x: Permission denied",
        "cat: /usr/share/nothing: No such file or directory",
        "cat: /work/missing: No such file or directory",
        "cat: missing: No such file or directory",
        "open missing/usr/x: permission denied",
        "Error: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }",
        "sqlite3.OperationalError: unable to open database file",
        "Permission denied",
        "git@example.org: Permission denied (publickey).",
        "cat: /work/../usr/x: Permission denied",
        "/usr/bin/python3: can't find '__main__' module in '/work'",
        "",
        "/",
        "permission denied: '",
        "permission denied, ",
        "permission denied @ ",
    };
    struct row rows[ARRAY_LEN(lines)] = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        rows[i].line = lines[i];
    assert_rows(rows, ARRAY_LEN(rows));
}

static void a_resolver_says_which_name_it_asked_for(void **state)
{
    static const struct row rows[] = {
        { "panic: Get \"https://Example.org\": dial tcp: lookup Example.org on 198.18.0.2:53: dial "
          "udp",
          "example.org", NULL, "--network allow --allow-host example.org" },
        { "lookup a;reboot on 198.18.0.2:53", DENIAL_SOME_NAME, NULL, "" },
        { "look up example.org on 198.18.0.2:53", DENIAL_SOME_NAME, NULL, "" },
        { "lookup  on 198.18.0.2:53", DENIAL_SOME_NAME, NULL, "" },
        { " on 198.18.0.2:53", DENIAL_SOME_NAME, NULL, "" },
        { "lookup example.org on 8.8.8.8:53", DENIAL_SOME_NAME, NULL, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct denials found = { 0 };

        denials_note(&found, DENIAL_NAME, "network: none", "", DENIAL_SOME_NAME);
        look(rows[i].line, strlen(rows[i].line), &found);
        assert_int_equal(found.n, 1);
        assert_string_equal(found.items[0].target, rows[i].target);
        assert_string_equal(found.items[0].remedy, rows[i].remedy);
        denials_done(&found);
    }
}

static void text_is_bounded(void **state)
{
    struct denials d = { 0 };
    size_t size = 1 << 20, used = 0;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    used += (size_t)sprintf(text, "cat: /first: No such file or directory\n");
    memset(text + used, 'x', 200000);
    used += 200000;
    text[used - 1] = '\n';
    for (int i = 0; i < 1000; i++)
        used += (size_t)sprintf(text + used, "cat: /absent%d: No such file or directory\n", i);
    look(text, used, &d);
    assert_int_equal(d.n, DENIAL_TEXT_MAX);
    assert_string_equal(d.items[0].target, "/absent0");
    denials_done(&d);
    look(NULL, 0, &d);
    assert_int_equal(d.n, 0);
    free(text);
}

/* No input may be read past its end: under a sanitizer this test is one of memory too. */
static void bytes_of_any_kind_are_survived(void **state)
{
    static const char alphabet[] = "/'\"`([: ,@-.\n\0\xe2\x80\x98\xff"
                                   "ab";
    static const char *const words[] = { "permission denied", "No such file", "/usr/", "/x",
                                         ": '" };
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct denials d = { 0 };
        size_t used = 0;
        char *text = malloc(160), *exact;

        assert_non_null(text);
        while (used < 100) {
            seed = seed * 1664525 + 1013904223;
            if (seed >> 30)
                text[used++] = alphabet[(seed >> 8) % (sizeof(alphabet) - 1)];
            else
                used += (size_t)sprintf(text + used, "%s", words[(seed >> 8) % ARRAY_LEN(words)]);
        }
        exact = malloc(used);
        assert_non_null(exact);
        memcpy(exact, text, used);
        look(exact, used, &d);
        denials_done(&d);
        free(exact);
        free(text);
    }
}

static void without_a_root_landlock_is_named(void **state)
{
    struct plan plan = { .run_dir = "/tmp/sandbox-run-1",
                         .rules = { { "/usr", ACCESS_READ, false },
                                    { "/tmp/sandbox-run-1/work", ACCESS_WRITE, false } },
                         .n_rules = 2 };
    static const char text[] = "cat: /usr/x: Permission denied\n"
                               "cat: /home/me/data.csv: Permission denied\n"
                               "cat: /tmp/sandbox-run-1/work/x: Permission denied\n"
                               "cat: /nowhere: No such file or directory\n";
    struct denials d = { 0 };

    (void)state;
    denial_text(&plan, text, sizeof(text) - 1, &d);
    assert_int_equal(d.n, 2);
    assert_string_equal(d.items[0].rule, "stderr: landlock: can be read only");
    assert_string_equal(d.items[1].rule, "stderr: landlock: not among what can be read");
    assert_string_equal(d.items[1].remedy, VOLUME);
    denials_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_written_is_found_in_every_language),
        cmocka_unit_test(a_refused_port_of_loopback_is_the_sandboxs_own),
        cmocka_unit_test(what_is_not_in_the_tree_is_found),
        cmocka_unit_test(what_the_sandbox_did_not_refuse_is_left_alone),
        cmocka_unit_test(a_resolver_says_which_name_it_asked_for),
        cmocka_unit_test(text_is_bounded),
        cmocka_unit_test(bytes_of_any_kind_are_survived),
        cmocka_unit_test(without_a_root_landlock_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
