#include "work/build_messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

struct wanted {
    enum message_severity severity;
    const char *file;
    unsigned int line, column;
    const char *text, *code;
};

static void assert_messages(const char *text, const struct wanted *rows)
{
    struct build_messages found = { 0 };
    sbr_error err = { 0 };
    size_t n = 0;

    assert_int_equal(build_messages_read(text, strlen(text), &found, &err), 0);
    for (; rows->text; rows++, n++) {
        const struct build_message *m = &found.items[n];

        if (n >= found.n)
            fail_msg("'%s' is not among the messages of '%s'", rows->text, text);
        assert_string_equal(m->text, rows->text);
        assert_int_equal(m->severity, rows->severity);
        assert_int_equal(m->line, rows->line);
        assert_int_equal(m->column, rows->column);
        assert_string_equal(m->file ? m->file : "", rows->file ? rows->file : "");
        assert_string_equal(m->code ? m->code : "", rows->code ? rows->code : "");
    }
    assert_int_equal(found.n, n);
    build_messages_done(&found);
}

#define ONE(...)                                                                                   \
    (const struct wanted[])                                                                        \
    {                                                                                              \
        { __VA_ARGS__ },                                                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

static void compilers_name_their_places(void **state)
{
    (void)state;
    assert_messages("main.c: In function 'main':\n"
                    "main.c:2:22: warning: unused variable 'x' [-Wunused-variable]\n"
                    "    2 |     int x;\n"
                    "/work/src/a.c:3:1: \033[01;31merror: \033[0mexpected ';'\n"
                    "main.c:2:22: warning: unused variable 'x' [-Wunused-variable]\n",
                    (const struct wanted[]){
                        { MESSAGE_WARNING, "main.c", 2, 22, "unused variable 'x'",
                          "-Wunused-variable" },
                        { MESSAGE_ERROR, "src/a.c", 3, 1, "expected ';'", NULL },
                        { 0 } });
    assert_messages("../a.cpp:1:10: fatal error: x.h: No such file or directory\n",
                    ONE(MESSAGE_ERROR, "a.cpp", 1, 10, "x.h: No such file or directory", NULL));
    assert_messages(
        "A.java:3: error: ';' expected\n        int x = 1\n                 ^\n1 error\n",
        ONE(MESSAGE_ERROR, "A.java", 3, 18, "';' expected", NULL));
    assert_messages("src/a.ts(1,5): error TS2322: Type 'string' is not assignable.\r\n",
                    ONE(MESSAGE_ERROR, "src/a.ts", 1, 5, "Type 'string' is not assignable.",
                        "TS2322"));
    assert_messages("src/a.ts:1:5 - error TS2322: no\n",
                    ONE(MESSAGE_ERROR, "src/a.ts", 1, 5, "no", "TS2322"));
    assert_messages("# ex\n./main.go:4:2: undefined: x\nvet: b.go:1:1: odd\n",
                    (const struct wanted[]){
                        { MESSAGE_ERROR, "main.go", 4, 2, "undefined: x", NULL },
                        { MESSAGE_ERROR, "b.go", 1, 1, "odd", NULL },
                        { 0 } });
    assert_messages("error[E0308]: mismatched types\n --> src/main.rs:2:5\n  |\n"
                    "warning: `t` (bin \"t\") generated 1 warning\n"
                    "error: could not compile `t` (bin \"t\") due to 1 previous error\n",
                    ONE(MESSAGE_ERROR, "src/main.rs", 2, 5, "mismatched types", "E0308"));
}

static void tools_name_their_places(void **state)
{
    (void)state;
    assert_messages(
        "[ERROR] /work/src/main/java/A.java:[3,9] not a statement\n[ERROR] -> [Help 1]\n",
        ONE(MESSAGE_ERROR, "src/main/java/A.java", 3, 9, "not a statement", NULL));
    assert_messages("CMake Error at CMakeLists.txt:3 (add_executable):\n\n  Cannot find source:\n",
                    ONE(MESSAGE_ERROR, "CMakeLists.txt", 3, 0, "Cannot find source:", NULL));
    assert_messages("meson.build:2:0: ERROR: Unknown function \"x\".\n",
                    ONE(MESSAGE_ERROR, "meson.build", 2, 0, "Unknown function \"x\".", NULL));
    assert_messages("Makefile:3: *** missing separator.  Stop.\n"
                    "make: *** No rule to make target 'x'.  Stop.\n"
                    "make: *** [Makefile:2: all] Error 1\n",
                    (const struct wanted[]){
                        { MESSAGE_ERROR, "Makefile", 3, 0, "missing separator", NULL },
                        { MESSAGE_ERROR, NULL, 0, 0, "No rule to make target 'x'", NULL },
                        { 0 } });
    assert_messages("/usr/bin/ld: main.o: in function `main':\n"
                    "main.c:(.text+0x5): undefined reference to `f'\n",
                    ONE(MESSAGE_ERROR, "main.c", 0, 0, "undefined reference to `f'", NULL));
    assert_messages(
        "Traceback (most recent call last):\n  File \"/work/setup.py\", line 3, in <module>\n"
        "    f()\n  File \"/work/lib.py\", line 9, in f\n    1 / 0\n"
        "ZeroDivisionError: division by zero\n"
        "/work/a.py:4: DeprecationWarning: old\n",
        (const struct wanted[]){
            { MESSAGE_ERROR, "lib.py", 9, 0, "division by zero", "ZeroDivisionError" },
            { MESSAGE_WARNING, "a.py", 4, 0, "old", "DeprecationWarning" },
            { 0 } });
}

/* What is no message is none, and what a hostile tool prints stays within bounds. */
static void other_lines_are_no_messages(void **state)
{
    struct build_messages found = { 0 };
    struct buf text;
    sbr_error err = { 0 };

    (void)state;
    assert_messages("", (const struct wanted[]){ { 0 } });
    assert_messages("a:b\n:3: error: x\n12:30:01 started\nhttp://host:80/ error: x\n  File \"",
                    (const struct wanted[]){ { 0 } });
    buf_init(&text, 1 << 20);
    for (unsigned int i = 1; i <= BUILD_MESSAGES_MOST + 5; i++)
        buf_printf(&text, "a.c:%u:1: error: \033]0;x\a\n", i);
    assert_int_equal(build_messages_read(text.data, text.len, &found, &err), 0);
    assert_int_equal(found.n, BUILD_MESSAGES_MOST);
    assert_int_equal(found.dropped, 5);
    assert_string_equal(found.items[0].text, "\\x1b]0;x\\x07");
    build_messages_done(&found);
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilers_name_their_places),
        cmocka_unit_test(tools_name_their_places),
        cmocka_unit_test(other_lines_are_no_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
