#include "edit/editor.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"

#define PATTERN_MAX 200

void editor_init(struct editor *e)
{
    memset(e, 0, sizeof(*e));
    edit_text_init(&e->text);
    buf_init(&e->pattern, PATTERN_MAX);
}

static void drop_matches(struct editor *e)
{
    while (e->n_matches)
        free(e->matches[--e->n_matches]);
    free(take_ptr(e->matches));
}

void editor_done(struct editor *e)
{
    drop_matches(e);
    edit_text_done(&e->text);
    buf_done(&e->pattern);
    free(take_ptr(e->own));
    free(take_ptr(e->prefix));
}

void editor_begin(struct editor *e, const struct history *history, const char *text)
{
    drop_matches(e);
    e->mode = EDIT_TEXT;
    e->history = history;
    e->at = history->n;
    e->recalled = false;
    free(take_ptr(e->own));
    free(take_ptr(e->prefix));
    edit_text_begin(&e->text, text, strlen(text));
}

/* The history. */

static void show_entry(struct editor *e, size_t at)
{
    const char *text = at < e->history->n ? e->history->entries[at] : e->own ? e->own : "";

    e->at = at;
    edit_text_set(&e->text, text, strlen(text));
    e->recalled = at < e->history->n;
}

static void older(struct editor *e)
{
    size_t at;

    if (e->at == e->history->n) { /* the person's own text, and what it begins with */
        free(e->own);
        free(e->prefix);
        e->own = strndup(e->text.text.data, e->text.text.len);
        e->prefix = strndup(e->text.text.data, e->text.cursor);
    }
    if (!e->own || !e->prefix)
        return;
    at = history_older(e->history, e->at, e->prefix, strlen(e->prefix));
    if (at < e->history->n)
        show_entry(e, at);
}

static void newer(struct editor *e)
{
    if (e->at < e->history->n && e->prefix)
        show_entry(e, history_newer(e->history, e->at, e->prefix, strlen(e->prefix)));
}

/* The search. */

static void search(struct editor *e)
{
    e->n_found =
        history_search(e->history, e->pattern.len ? e->pattern.data : "", e->found, EDIT_FOUND_MAX);
    e->selected = 0;
}

static void begin_search(struct editor *e)
{
    e->mode = EDIT_SEARCH;
    e->pattern.len = 0;
    search(e);
}

static void shorten_pattern(struct editor *e)
{
    if (!e->pattern.len)
        return;
    do
        e->pattern.len--;
    while (e->pattern.len && ((unsigned char)e->pattern.data[e->pattern.len] & 0xc0) == 0x80);
    e->pattern.data[e->pattern.len] = '\0';
    search(e);
}

static void take_found(struct editor *e)
{
    e->mode = EDIT_TEXT;
    if (!e->n_found)
        return;
    if (e->at == e->history->n) {
        free(e->own);
        e->own = strndup(e->text.text.data, e->text.text.len);
    }
    free(e->prefix); /* from here on all entries are next to it */
    e->prefix = strdup("");
    show_entry(e, e->found[e->selected]);
}

static void extend_pattern(struct editor *e, const char *text)
{
    if (buf_add_text(&e->pattern, text) < 0)
        e->pattern.failed = false;
    search(e);
}

static enum edit_wish search_key(struct editor *e, const struct key *key)
{
    char sign = key->code == KEY_CONTROL ? key->text[0] : '\0';

    if (key->code == KEY_TEXT) {
        extend_pattern(e, key->text);
    } else if (key->code == KEY_BACKSPACE) {
        shorten_pattern(e);
    } else if (key->code == KEY_UP || sign == 'r' || sign == 'p') {
        e->selected += e->selected + 1 < e->n_found;
    } else if (key->code == KEY_DOWN || sign == 's' || sign == 'n') {
        e->selected -= e->selected > 0;
    } else if (sign == 'c') {
        e->mode = EDIT_TEXT;
        return EDIT_INTERRUPT;
    } else if (sign == 'g' || key->code == KEY_ESCAPE || sign == 'd' || sign == '@') {
        e->mode = EDIT_TEXT; /* the text is as it was */
    } else if (key->code != KEY_UNKNOWN && key->code != KEY_PASTE) {
        take_found(e);
    }
    return EDIT_NOTHING;
}

/* The menu of a completion. */

static void show_match(struct editor *e)
{
    const char *match = e->chosen < e->n_matches ? e->matches[e->chosen] : NULL;

    if (e->shown)
        (void)edit_text_undo(&e->text);
    e->shown = match != NULL;
    if (match)
        edit_text_replace(&e->text, e->word, match, strlen(match));
}

static size_t common_length(char *const *matches, size_t n)
{
    size_t len = strlen(matches[0]);

    for (size_t i = 1; i < n; i++) {
        size_t same = 0;

        while (same < len && matches[i][same] == matches[0][same])
            same++;
        len = same;
    }
    while (len && ((unsigned char)matches[0][len] & 0xc0) == 0x80)
        len--;
    return len;
}

static bool copy_matches(struct editor *e, const char *const *matches, size_t n)
{
    drop_matches(e);
    e->matches = calloc(n, sizeof(*e->matches));
    for (size_t i = 0; e->matches && i < n; i++, e->n_matches++)
        if (!(e->matches[i] = strdup(matches[i])))
            break;
    return e->n_matches == n;
}

void editor_matches(struct editor *e, const char *const *matches, size_t n, size_t start)
{
    size_t common;

    if (!n || start > e->text.cursor || !copy_matches(e, matches, n))
        return;
    common = common_length(e->matches, n);
    if (common > e->text.cursor - start || n == 1) {
        if (common != e->text.cursor - start ||
            memcmp(e->text.text.data + start, e->matches[0], common) != 0)
            edit_text_replace(&e->text, start, e->matches[0], common);
        return;
    }
    e->mode = EDIT_MENU;
    e->chosen = n;
    e->word = start;
    e->shown = false;
}

static void move_choice(struct editor *e, bool back)
{
    if (back)
        e->chosen = e->chosen ? e->chosen - 1 : e->n_matches;
    else
        e->chosen = e->chosen < e->n_matches ? e->chosen + 1 : 0;
    if (e->chosen == e->n_matches && e->n_matches)
        e->chosen = back ? e->n_matches - 1 : 0;
    show_match(e);
}

static enum edit_wish text_key(struct editor *e, const struct key *key, const struct buf *paste);

static enum edit_wish menu_key(struct editor *e, const struct key *key, const struct buf *paste)
{
    char sign = key->code == KEY_CONTROL ? key->text[0] : '\0';

    if (key->code == KEY_TAB || key->code == KEY_DOWN || key->code == KEY_RIGHT || sign == 'n') {
        move_choice(e, false);
        return EDIT_NOTHING;
    }
    if (key->code == KEY_BACK_TAB || key->code == KEY_UP || key->code == KEY_LEFT || sign == 'p') {
        move_choice(e, true);
        return EDIT_NOTHING;
    }
    e->mode = EDIT_TEXT;
    if (key->code == KEY_ESCAPE || sign == 'g') {
        e->chosen = e->n_matches;
        show_match(e);
        return EDIT_NOTHING;
    }
    if (key->code == KEY_ENTER && e->chosen < e->n_matches)
        return EDIT_NOTHING; /* it is in the text already */
    return text_key(e, key, paste);
}

/* The text. */

static void kill_to(struct editor *e, size_t to)
{
    edit_text_remove(&e->text, to, true);
}

static enum edit_wish end_of_file(struct editor *e)
{
    if (!e->text.text.len)
        return EDIT_OVER;
    edit_text_remove(&e->text, edit_text_after(&e->text, EDIT_CHARACTER), false);
    return EDIT_NOTHING;
}

static void kill_line_end(struct editor *e)
{
    size_t end = edit_text_line_end(&e->text);

    kill_to(e, end == e->text.cursor && end < e->text.text.len ? end + 1 : end);
}

/* Ctrl-Space and a Ctrl-D that was typed while a cell ran look the same: the terminal keeps the
 * latter as a zero byte. */
static enum edit_wish control_key(struct editor *e, char sign)
{
    struct edit_text *t = &e->text;

    switch (sign) {
    case 'a':
        t->cursor = edit_text_before(t, EDIT_LINE);
        break;
    case 'e':
        t->cursor = edit_text_after(t, EDIT_LINE);
        break;
    case 'b':
        t->cursor = edit_text_before(t, EDIT_CHARACTER);
        break;
    case 'f':
        t->cursor = edit_text_after(t, EDIT_CHARACTER);
        break;
    case 'k':
        kill_line_end(e);
        break;
    case 'u':
        kill_to(e, edit_text_before(t, EDIT_LINE));
        break;
    case 'w':
        kill_to(e, edit_text_before(t, EDIT_WORD));
        break;
    case 'y':
        edit_text_paste_cut(t);
        break;
    case '_':
        (void)edit_text_undo(t);
        break;
    case 'o':
        edit_text_insert(t, "\n", 1);
        break;
    case 'p':
        if (!edit_text_up(t))
            older(e);
        break;
    case 'n':
        if (!edit_text_down(t))
            newer(e);
        break;
    case 'r':
        begin_search(e);
        break;
    case 'c':
        return EDIT_INTERRUPT;
    case 'd':
    case '@':
        return end_of_file(e);
    case 'l':
        return EDIT_CLEAR;
    case 'z':
        return EDIT_SUSPEND;
    case '\\':
        return EDIT_QUIT;
    default:
        break;
    }
    return EDIT_NOTHING;
}

static void alt_key(struct editor *e, char sign)
{
    struct edit_text *t = &e->text;

    switch (sign) {
    case 'b':
        t->cursor = edit_text_before(t, EDIT_WORD);
        break;
    case 'f':
        t->cursor = edit_text_after(t, EDIT_WORD);
        break;
    case 'd':
        kill_to(e, edit_text_after(t, EDIT_WORD));
        break;
    case '<':
        t->cursor = 0;
        break;
    case '>':
        t->cursor = t->text.len;
        break;
    case 'p':
        older(e);
        break;
    case 'n':
        newer(e);
        break;
    default:
        break;
    }
}

/* A blank line, or the begin of one, gets an indent. */
static enum edit_wish tab_key(struct editor *e)
{
    size_t begin = edit_text_line_begin(&e->text);

    while (begin < e->text.cursor && strchr(" \t", e->text.text.data[begin]))
        begin++;
    if (begin < e->text.cursor)
        return EDIT_COMPLETE;
    edit_text_insert(&e->text, "    ", 4);
    return EDIT_NOTHING;
}

/* An indent goes as it came. */
static void backspace(struct editor *e)
{
    struct edit_text *t = &e->text;
    size_t begin = edit_text_line_begin(t), column = t->cursor - begin;
    const char *line = t->text.data + begin;

    if (column >= 4 && column % 4 == 0 && strspn(line, " ") >= column)
        edit_text_remove(t, t->cursor - 4, false);
    else
        edit_text_remove(t, edit_text_before(t, EDIT_CHARACTER), false);
}

static void move_key(struct editor *e, enum key_code code)
{
    struct edit_text *t = &e->text;
    /* clang-format off */
    static const struct { enum key_code code; bool back; enum edit_step step; } moves[] = {
        { KEY_LEFT, true, EDIT_CHARACTER }, { KEY_RIGHT, false, EDIT_CHARACTER },
        { KEY_WORD_LEFT, true, EDIT_WORD }, { KEY_WORD_RIGHT, false, EDIT_WORD },
        { KEY_HOME, true, EDIT_LINE }, { KEY_END, false, EDIT_LINE },
        { KEY_TEXT_HOME, true, EDIT_ALL }, { KEY_TEXT_END, false, EDIT_ALL },
    };
    /* clang-format on */

    t->types = false;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (moves[i].code == code)
            t->cursor = moves[i].back ? edit_text_before(t, moves[i].step)
                                      : edit_text_after(t, moves[i].step);
}

static enum edit_wish other_key(struct editor *e, const struct key *key)
{
    struct edit_text *t = &e->text;

    switch (key->code) {
    case KEY_ENTER:
        return e->recalled ? EDIT_RUN : EDIT_ENTER;
    case KEY_ALT_ENTER:
        return EDIT_RUN;
    case KEY_TAB:
        return tab_key(e);
    case KEY_BACKSPACE:
        backspace(e);
        break;
    case KEY_ALT_BACKSPACE:
        kill_to(e, edit_text_before(t, EDIT_WORD));
        break;
    case KEY_DELETE:
        edit_text_remove(t, edit_text_after(t, EDIT_CHARACTER), false);
        break;
    case KEY_UP:
        return control_key(e, 'p');
    case KEY_DOWN:
        return control_key(e, 'n');
    case KEY_PAGE_UP:
        older(e);
        break;
    case KEY_PAGE_DOWN:
        newer(e);
        break;
    default:
        move_key(e, key->code);
        break;
    }
    return EDIT_NOTHING;
}

static enum edit_wish text_key(struct editor *e, const struct key *key, const struct buf *paste)
{
    switch (key->code) {
    case KEY_TEXT:
        edit_text_type(&e->text, key->text, strlen(key->text));
        return EDIT_NOTHING;
    case KEY_PASTE:
        edit_text_insert(&e->text, paste->len ? paste->data : "", paste->len);
        return EDIT_NOTHING;
    case KEY_CONTROL:
        return control_key(e, key->text[0]);
    case KEY_ALT:
        alt_key(e, key->text[0]);
        return EDIT_NOTHING;
    default:
        return other_key(e, key);
    }
}

enum edit_wish editor_key(struct editor *e, const struct key *key, const struct buf *paste)
{
    enum edit_wish wish;

    if (e->mode == EDIT_SEARCH)
        return search_key(e, key);
    wish = e->mode == EDIT_MENU ? menu_key(e, key, paste) : text_key(e, key, paste);
    if (e->recalled && strcmp(e->text.text.data, e->history->entries[e->at]) != 0)
        e->recalled = false;
    return wish;
}

void editor_new_line(struct editor *e, const char *indent)
{
    struct buf line;

    buf_init(&line, 4096);
    if (buf_add_text(&line, "\n") == 0 && buf_add_text(&line, indent) == 0)
        edit_text_insert(&e->text, line.data, line.len);
    buf_done(&line);
}

size_t editor_cell_len(const struct editor *e)
{
    size_t len = e->text.text.len;

    while (len && strchr(" \t", e->text.text.data[len - 1]))
        len--;
    return len && e->text.text.data[len - 1] == '\n' ? len : e->text.text.len;
}
