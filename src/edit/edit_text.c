#include "edit/edit_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"

#define UNKNOWN "\xef\xbf\xbd"
#define UNDO_BYTES ((size_t)32 << 20)
#define JOINER 0x200d

void edit_text_init(struct edit_text *t)
{
    memset(t, 0, sizeof(*t));
    buf_init(&t->text, EDIT_TEXT_MAX);
    buf_init(&t->cut, EDIT_TEXT_MAX);
    (void)buf_add(&t->text, "", 0);
}

static void drop_undo(struct edit_text *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        t->undo_bytes -= t->undo[i].len;
        free(t->undo[i].text);
    }
    memmove(t->undo, t->undo + n, (t->n_undo - n) * sizeof(*t->undo));
    t->n_undo -= n;
}

void edit_text_done(struct edit_text *t)
{
    drop_undo(t, t->n_undo);
    buf_done(&t->text);
    buf_done(&t->cut);
}

/* Before a change. */
static void keep(struct edit_text *t)
{
    struct edit_state *state;

    t->types = false;
    while (t->n_undo && (t->n_undo == EDIT_UNDO_MAX || t->undo_bytes + t->text.len > UNDO_BYTES))
        drop_undo(t, 1);
    state = &t->undo[t->n_undo];
    *state = (struct edit_state){ malloc(t->text.len + 1), t->text.len, t->cursor };
    if (!state->text)
        return;
    if (t->text.len)
        memcpy(state->text, t->text.data, t->text.len);
    t->undo_bytes += t->text.len;
    t->n_undo++;
}

bool edit_text_undo(struct edit_text *t)
{
    struct edit_state *state;

    t->types = false;
    if (!t->n_undo)
        return false;
    state = &t->undo[--t->n_undo];
    t->text.len = 0;
    (void)buf_add(&t->text, state->text, state->len);
    t->cursor = state->cursor;
    t->undo_bytes -= state->len;
    free(state->text);
    return true;
}

static uint32_t decode(const char *text, size_t len)
{
    static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t c = (unsigned char)text[0] & first[len];

    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)text[i] & 0x3f);
    return c;
}

/* Columns of one code point; a sign that is shown as ^X has two. */
static unsigned int columns_of(uint32_t c)
{
    int width;

    if (c < 0x20 || c == 0x7f)
        return c == '\n' || c == '\t' ? 1 : 2;
    width = c < 0x7f ? 1 : wcwidth((wchar_t)c);
    return width < 0 ? 1 : (unsigned int)width;
}

size_t edit_character(const char *text, size_t left, unsigned int *ret_columns)
{
    size_t len = text_character_len(text, left), more;
    uint32_t c = len ? decode(text, len) : 0, next;

    *ret_columns = len ? columns_of(c) : 1;
    if (!len)
        return 1;
    while (c >= 0x20 && len < left && (more = text_character_len(text + len, left - len))) {
        next = decode(text + len, more);
        if (next < 0x300 || (columns_of(next) && c != JOINER))
            break;
        len += more;
        c = next;
    }
    return len;
}

static size_t next_at(const struct edit_text *t, size_t at)
{
    unsigned int columns;

    return at < t->text.len ? at + edit_character(t->text.data + at, t->text.len - at, &columns)
                            : at;
}

/* From the begin of the line, because what combines stands behind what it combines with. */
static size_t previous_at(const struct edit_text *t, size_t at)
{
    size_t from = at, next;

    if (!at)
        return 0;
    if (t->text.data[at - 1] == '\n')
        return at - 1;
    while (from && t->text.data[from - 1] != '\n')
        from--;
    while ((next = next_at(t, from)) < at)
        from = next;
    return from;
}

static bool is_word(const struct edit_text *t, size_t at)
{
    unsigned char c = (unsigned char)t->text.data[at];

    return isalnum(c) || c == '_' || c >= 0x80;
}

size_t edit_text_line_begin(const struct edit_text *t)
{
    size_t at = t->cursor;

    while (at && t->text.data[at - 1] != '\n')
        at--;
    return at;
}

size_t edit_text_line_end(const struct edit_text *t)
{
    size_t at = t->cursor;

    while (at < t->text.len && t->text.data[at] != '\n')
        at++;
    return at;
}

size_t edit_text_before(const struct edit_text *t, enum edit_step step)
{
    size_t at = t->cursor;

    switch (step) {
    case EDIT_CHARACTER:
        return previous_at(t, at);
    case EDIT_WORD:
        while (at && !is_word(t, at - 1))
            at--;
        while (at && is_word(t, at - 1))
            at--;
        return at;
    case EDIT_LINE:
        return edit_text_line_begin(t);
    case EDIT_ALL:
        break;
    }
    return 0;
}

size_t edit_text_after(const struct edit_text *t, enum edit_step step)
{
    size_t at = t->cursor, len = t->text.len;

    switch (step) {
    case EDIT_CHARACTER:
        return next_at(t, at);
    case EDIT_WORD:
        while (at < len && !is_word(t, at))
            at++;
        while (at < len && is_word(t, at))
            at++;
        return at;
    case EDIT_LINE:
        return edit_text_line_end(t);
    case EDIT_ALL:
        break;
    }
    return len;
}

static void remove_bytes(struct edit_text *t, size_t from, size_t to)
{
    memmove(t->text.data + from, t->text.data + to, t->text.len - to);
    t->text.len -= to - from;
    t->text.data[t->text.len] = '\0';
    t->cursor = from;
}

static void insert_bytes(struct edit_text *t, const char *text, size_t len)
{
    char *to = len ? buf_extend(&t->text, len) : NULL;

    if (!to) {
        t->text.failed = false; /* what is too long is left out */
        return;
    }
    to = t->text.data + t->cursor;
    memmove(to + len, to, t->text.len - len - t->cursor);
    memcpy(to, text, len);
    t->text.data[t->text.len] = '\0';
    t->cursor += len;
}

static void insert_clean(struct edit_text *t, const char *text, size_t len)
{
    struct buf clean;

    buf_init(&clean, EDIT_TEXT_MAX);
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = text_character_len(text + i, len - i);
        if (n == 1 && ((text[i] >= 0 && text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') ||
                       text[i] == 0x7f))
            n = 0;
        (void)(n ? buf_add(&clean, text + i, n) : buf_add_text(&clean, UNKNOWN));
    }
    insert_bytes(t, clean.data, clean.len);
    buf_done(&clean);
}

void edit_text_insert(struct edit_text *t, const char *text, size_t len)
{
    keep(t);
    insert_clean(t, text, len);
}

void edit_text_type(struct edit_text *t, const char *text, size_t len)
{
    if (!t->types)
        keep(t);
    insert_clean(t, text, len);
    t->types = text[0] != ' ' && text[0] != '\n';
}

void edit_text_begin(struct edit_text *t, const char *text, size_t len)
{
    drop_undo(t, t->n_undo);
    t->types = false;
    t->text.len = t->cursor = 0;
    (void)buf_add(&t->text, "", 0);
    insert_clean(t, text, len);
}

void edit_text_set(struct edit_text *t, const char *text, size_t len)
{
    keep(t);
    t->text.len = t->cursor = 0;
    insert_clean(t, text, len);
    if (t->text.data)
        t->text.data[t->text.len] = '\0';
}

void edit_text_replace(struct edit_text *t, size_t from, const char *text, size_t len)
{
    keep(t);
    remove_bytes(t, from, t->cursor);
    insert_clean(t, text, len);
}

void edit_text_remove(struct edit_text *t, size_t to, bool cut)
{
    size_t from = t->cursor < to ? t->cursor : to, end = t->cursor < to ? to : t->cursor;

    if (from == end)
        return;
    keep(t);
    if (cut) {
        t->cut.len = 0;
        (void)buf_add(&t->cut, t->text.data + from, end - from);
    }
    remove_bytes(t, from, end);
}

void edit_text_paste_cut(struct edit_text *t)
{
    if (t->cut.len)
        edit_text_insert(t, t->cut.data, t->cut.len);
}

static size_t column_of(const struct edit_text *t, size_t begin)
{
    size_t column = 0;

    for (size_t at = begin; at < t->cursor; at = next_at(t, at))
        column++;
    return column;
}

/* The character of that column, or the end of the line. */
static void go_to(struct edit_text *t, size_t begin, size_t column)
{
    t->cursor = begin;
    while (column-- && t->cursor < t->text.len && t->text.data[t->cursor] != '\n')
        t->cursor = next_at(t, t->cursor);
}

bool edit_text_up(struct edit_text *t)
{
    size_t begin = edit_text_line_begin(t), column = column_of(t, begin);

    t->types = false;
    if (!begin)
        return false;
    t->cursor = begin - 1;
    go_to(t, edit_text_line_begin(t), column);
    return true;
}

bool edit_text_down(struct edit_text *t)
{
    size_t end = edit_text_line_end(t), column = column_of(t, edit_text_line_begin(t));

    t->types = false;
    if (end == t->text.len)
        return false;
    go_to(t, end + 1, column);
    return true;
}
