/* The editor of cells, as a person meets it: bytes of a terminal go in, a text and rows of a screen
 * come out. */
#include "edit/edit_view.h"
#include "edit/editor.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "unit.h"

#define UP "\033[A"
#define DOWN "\033[B"
#define LEFT "\033[D"

static struct editor editor;
static struct keys keys;
static struct history past;

static int begin(void **state)
{
    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    history_init(&past);
    editor_init(&editor);
    keys_init(&keys);
    editor_begin(&editor, &past, "");
    return 0;
}

static int end(void **state)
{
    (void)state;
    editor_done(&editor);
    keys_done(&keys);
    history_done(&past);
    return 0;
}

/* What the last key asked for. */
static enum edit_wish type(const char *bytes)
{
    enum edit_wish wish = EDIT_NOTHING;
    struct key key;

    for (const char *at = bytes; *at; at++)
        if (keys_add(&keys, *at, &key))
            wish = editor_key(&editor, &key, &keys.paste);
    return wish;
}

static void press(const char *bytes)
{
    (void)type(bytes);
}

static void add(const char *cell)
{
    assert_true(history_add(&past, cell, strlen(cell)));
    editor_begin(&editor, &past, "");
}

#define assert_text(expected) assert_string_equal(editor.text.text.data, expected)

static enum key_code code_of(const char *bytes)
{
    struct key key = { .code = KEY_UNKNOWN };
    bool whole = false;

    for (const char *at = bytes; *at; at++) {
        assert_false(whole); /* every byte before the last is only a part */
        whole = keys_add(&keys, *at, &key);
    }
    if (!whole)
        keys_end(&keys, &key);
    return key.code;
}

static void keys_come_in_several_forms(void **state)
{
    static const struct {
        const char *bytes;
        enum key_code code;
    } forms[] = {
        { "\033[A", KEY_UP },        { "\033OA", KEY_UP },
        { "\033[H", KEY_HOME },      { "\033[1~", KEY_HOME },
        { "\033OF", KEY_END },       { "\033[3~", KEY_DELETE },
        { "\033[Z", KEY_BACK_TAB },  { "\033[1;5C", KEY_WORD_RIGHT },
        { "\033\r", KEY_ALT_ENTER }, { "\033b", KEY_ALT },
        { "\177", KEY_BACKSPACE },   { "\b", KEY_BACKSPACE },
        { "\n", KEY_ENTER },         { "\t", KEY_TAB },
        { "\303\274", KEY_TEXT },    { "\033[99;99R", KEY_UNKNOWN },
        { "\033", KEY_ESCAPE },      { "\033[<0;3;4M", KEY_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        assert_int_equal(code_of(forms[i].bytes), forms[i].code);
}

static void bytes_that_are_no_text_become_a_sign(void **state)
{
    (void)state;
    press("a\377b\303z");
    assert_text("a\xef\xbf\xbd"
                "bz");
    press("\033[200~\033]0;title\007\033[201~");
    assert_null(strchr(editor.text.text.data, '\033'));
}

static void a_line_is_edited(void **state)
{
    (void)state;
    press("hello wrld");
    press(LEFT LEFT LEFT "o");
    assert_text("hello world");
    press("\027");
    assert_text("hello rld");
    press("\031");
    press("\001");
    press("\013");
    assert_text("");
    press("\031");
    assert_text("hello world");
    press("\037");
    press("\037");
    assert_text("hello world");
    press("\005");
    press("\025");
    assert_text("");
    press("\037");
    assert_text("hello world");
}

static void what_is_typed_is_taken_back_word_by_word(void **state)
{
    (void)state;
    press("one two");
    press("\037");
    assert_text("one ");
    press("\037");
    assert_text("");
    press("\037"); /* nothing is left to take back */
    assert_text("");
}

static void a_character_goes_with_what_combines_with_it(void **state)
{
    (void)state;
    press(
        "ae\314\201\360\237\221\251\342\200\215\360\237\221\247z"); /* e with an accent, a family */
    press(LEFT "\177");
    assert_text("ae\314\201z");
    press("\177");
    assert_text("az");
}

static void lines_of_a_cell_are_edited(void **state)
{
    (void)state;
    press("\033[200~def f():\r    return 1\033[201~");
    assert_text("def f():\n    return 1");
    press(UP "\005");
    press("\177\177"
          "x):");
    assert_text("def f(x):\n    return 1");
    press(DOWN "\005");
    press("0");
    assert_text("def f(x):\n    return 10");
    assert_int_equal(type("\r"), EDIT_ENTER);
    editor_new_line(&editor, "    ");
    assert_int_equal(editor_cell_len(&editor), strlen("def f(x):\n    return 10\n"));
    press("\177"); /* an indent goes as it came */
    assert_text("def f(x):\n    return 10\n");
}

static void a_whole_cell_is_recalled_and_edited(void **state)
{
    (void)state;
    add("x = 1");
    add("def f():\n    return x");
    add("f()");
    press(UP UP);
    assert_text("def f():\n    return x");
    assert_int_equal(type("\r"), EDIT_RUN); /* as it was */
    press(UP "x");
    assert_int_equal(type("\r"), EDIT_ENTER); /* it is another one now */
    editor_begin(&editor, &past, "");
    press("mine"
          "\001");
    press(UP UP UP UP UP);
    assert_text("x = 1");
    press(DOWN DOWN DOWN DOWN DOWN);
    assert_text("mine");
    press("\001");
    press("\033[5~");
    assert_text("f()");
    press("\033[5~\033[5~"); /* a page is a cell, however many lines it has */
    assert_text("x = 1");
}

static void what_is_typed_chooses_what_is_recalled(void **state)
{
    (void)state;
    add("import os");
    add("x = 1");
    add("print(x)");
    press("imp" UP);
    assert_text("import os");
    press(UP);
    assert_text("import os");
    press(DOWN);
    assert_text("imp");
}

static void the_history_is_searched(void **state)
{
    (void)state;
    add("alpha = 1");
    add("beta = 2");
    add("ALPHABET = 3");
    press("mine");
    press("\022");
    press("alpha");
    assert_int_equal(editor.n_found, 2);
    press("\022");
    assert_int_equal(type("\r"), EDIT_NOTHING); /* taken, not run */
    assert_text("alpha = 1");
    press(DOWN DOWN DOWN);
    assert_text("mine");
}

static void a_search_that_is_given_up_leaves_the_text(void **state)
{
    (void)state;
    add("alpha = 1");
    press("2+2");
    press("\022");
    press("zzz");
    assert_int_equal(editor.n_found, 0);
    assert_int_equal(type("\r"), EDIT_NOTHING); /* nothing was found: nothing happens */
    assert_text("2+2");
    press("\022");
    press("a");
    press("\007");
    assert_text("2+2");
    assert_int_equal(editor.mode, EDIT_TEXT);
    assert_int_equal(type("\r"), EDIT_ENTER);
    press("\022");
    press("a");
    assert_int_equal(type("\003"), EDIT_INTERRUPT);
    assert_int_equal(editor.mode, EDIT_TEXT);
}

static void a_history_is_the_same_when_it_is_read_again(void **state)
{
    static const char *const cells[] = { "def f():\n\treturn '\\n'", "x \\040 y", "\303\274 = 1" };
    struct history again;
    struct buf lines;

    (void)state;
    history_init(&again);
    buf_init(&lines, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        history_write(cells[i], strlen(cells[i]), &lines);
    history_read(&again, lines.data, lines.len);
    assert_int_equal(again.n, ARRAY_LEN(cells));
    for (size_t i = 0; i < again.n; i++)
        assert_string_equal(again.entries[i], cells[i]);
    history_read(&again, "_HiStOrY_V2_\nx\\040=\\0401\n\\\n", 26);
    assert_string_equal(again.entries[3], "x = 1");
    buf_done(&lines);
    history_done(&again);
}

static void a_history_is_bounded_and_has_each_cell_once(void **state)
{
    char cell[32];

    (void)state;
    for (int i = 0; i < HISTORY_ENTRIES + 10; i++) {
        snprintf(cell, sizeof(cell), "x = %d", i);
        assert_true(history_add(&past, cell, strlen(cell)));
    }
    assert_int_equal(past.n, HISTORY_ENTRIES);
    assert_string_equal(past.entries[0], "x = 10");
    assert_true(history_add(&past, "x = 50\n", 7));
    assert_int_equal(past.n, HISTORY_ENTRIES);
    assert_string_equal(past.entries[past.n - 1], "x = 50");
    assert_false(history_add(&past, " \n", 2));
}

static void matches_are_chosen_from(void **state)
{
    static const char *const two[] = { "number", "numeric" }, *const one[] = { "number" };

    (void)state;
    press("x = nu");
    assert_int_equal(type("\t"), EDIT_COMPLETE);
    editor_matches(&editor, two, 2, 4);
    assert_text("x = num"); /* how far they agree */
    editor_matches(&editor, two, 2, 4);
    assert_int_equal(editor.mode, EDIT_MENU);
    press("\t\t");
    assert_text("x = numeric");
    press("\033[Z");
    assert_text("x = number");
    assert_int_equal(type("\r"), EDIT_NOTHING);
    assert_text("x = number");
    editor_begin(&editor, &past, "x = num");
    editor_matches(&editor, two, 2, 4);
    press("\t");
    press("\007");
    assert_text("x = num");
    editor_matches(&editor, one, 1, 4);
    assert_text("x = number");
    editor_matches(&editor, one, 1, 400); /* a place that is not in the text */
    assert_text("x = number");
    editor_begin(&editor, &past, "");
    assert_int_equal(type("\t"), EDIT_NOTHING);
    assert_text("    ");
}

static void control_d_ends_only_an_empty_text(void **state)
{
    (void)state;
    press("ab"
          "\001");
    assert_int_equal(type("\004"), EDIT_NOTHING);
    assert_text("b");
    press("\177"
          "\004");
    assert_text("");
    assert_int_equal(type("\004"), EDIT_OVER);
}

/* The rows that are shown, with newlines between them; `|` where the cursor stands. */
static char shown[4096];

static const char *rows(unsigned int columns, unsigned int height)
{
    struct view_look look = { "> ", ". ", columns, height, NULL, NULL };
    struct view v;
    size_t at = 0, row = 0;

    edit_view_init(&v);
    edit_view_make(&v, &editor, &look, false);
    assert_true(v.end - v.first + v.list <= height);
    for (size_t i = v.first; i < v.n; i = i + 1 == v.end ? v.n - v.list : i + 1, row++) {
        assert_true(v.rows[i].columns <= columns);
        at += (size_t)snprintf(shown + at, sizeof(shown) - at, "%.*s%s\n", (int)v.rows[i].len,
                               v.text.data ? v.text.data + v.rows[i].at : "",
                               row == v.cursor_row ? "|" : "");
    }
    snprintf(shown + at, sizeof(shown) - at, "%u", v.cursor_column);
    edit_view_done(&v);
    return shown;
}

static void long_lines_are_wrapped_where_the_screen_ends(void **state)
{
    (void)state;
    press("12345678");
    assert_string_equal(rows(10, 5), "> 12345678\n|\n0");
    press("9");
    assert_string_equal(rows(10, 5), "> 12345678\n9|\n1");
    editor_begin(&editor, &past, "1234567\345\255\227x"); /* a sign of two columns */
    assert_string_equal(rows(10, 5), "> 1234567 \n\345\255\227x|\n3");
    editor_begin(&editor, &past, "e\314\201x");
    assert_string_equal(rows(10, 5), "> e\314\201x|\n4");
}

static void a_cell_that_is_higher_than_the_screen_shows_the_cursor(void **state)
{
    (void)state;
    editor_begin(&editor, &past, "a\nb\nc\nd\ne\nf");
    assert_string_equal(rows(10, 3), ". d\n. e\n. f|\n3");
    press(UP UP UP UP UP);
    assert_string_equal(rows(10, 3), "> a|\n. b\n. c\n3");
}

static void matches_and_finds_stand_below(void **state)
{
    static const char *const names[] = { "alpha", "beta", "\033[31mred" };

    (void)state;
    add("one\ntwo");
    press("x");
    editor_matches(&editor, names, 3, 1);
    press("\t");
    assert_non_null(strstr(rows(60, 10), "> xalpha|\n\033[7malpha"));
    assert_null(strstr(rows(60, 10), "\033[31m"));
    press("\033[200~\033[201~");
    press("\022");
    assert_string_equal(rows(40, 10), "> one\n. two\nsearch: |\n\033[7m> one (2 lines)\033[0m\n8");
    press("zz");
    assert_string_equal(rows(40, 10), "> xalpha\nsearch: zz   (nothing has it)|\n10");
}

static void no_size_of_the_screen_breaks_it(void **state)
{
    static const char *const names[] = { "a_long_name_that_does_not_fit", "another",
                                         "x\345\255\227" };

    (void)state;
    add("one \345\255\227\ntwo\nthree");
    for (unsigned int columns = 8; columns < 40; columns++) {
        for (unsigned int height = 2; height < 12; height++) {
            editor_begin(&editor, &past, "if \345\255\227 and another and more:\n\tpass\n\n");
            (void)rows(columns, height);
            editor_matches(&editor, names, 3, editor.text.cursor);
            press("\t\t");
            (void)rows(columns, height);
            press("\022");
            press("o");
            (void)rows(columns, height);
            press("\007");
        }
    }
}

#define begun_test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        begun_test(keys_come_in_several_forms),
        begun_test(bytes_that_are_no_text_become_a_sign),
        begun_test(a_line_is_edited),
        begun_test(what_is_typed_is_taken_back_word_by_word),
        begun_test(a_character_goes_with_what_combines_with_it),
        begun_test(lines_of_a_cell_are_edited),
        begun_test(a_whole_cell_is_recalled_and_edited),
        begun_test(what_is_typed_chooses_what_is_recalled),
        begun_test(the_history_is_searched),
        begun_test(a_search_that_is_given_up_leaves_the_text),
        begun_test(a_history_is_the_same_when_it_is_read_again),
        begun_test(a_history_is_bounded_and_has_each_cell_once),
        begun_test(matches_are_chosen_from),
        begun_test(control_d_ends_only_an_empty_text),
        begun_test(long_lines_are_wrapped_where_the_screen_ends),
        begun_test(a_cell_that_is_higher_than_the_screen_shows_the_cursor),
        begun_test(matches_and_finds_stand_below),
        begun_test(no_size_of_the_screen_breaks_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
