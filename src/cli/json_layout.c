#include "cli/json_layout.h"

#include <ctype.h>
#include <string.h>

#define DEEPEST 64
#define INDENT 2

enum expects { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END, NOTHING };

struct layout {
    const char *text;
    size_t at, len;
    char open[DEEPEST];
    size_t depth;
    enum expects expects;
    bool color;
    struct buf *out;
};

static void put(struct layout *l, const char *color, const char *text, size_t len)
{
    if (!l->out)
        return;
    if (l->color && color)
        (void)buf_add_text(l->out, color);
    (void)buf_add(l->out, text, len);
    if (l->color && color)
        (void)buf_add_text(l->out, "\x1b[0m");
}

static void new_line(struct layout *l)
{
    put(l, NULL, "\n", 1);
    for (size_t i = 0; i < l->depth * INDENT; i++)
        put(l, NULL, " ", 1);
}

static enum expects behind_value(const struct layout *l)
{
    return l->depth ? COMMA_OR_END : NOTHING;
}

/* The text with its quotes; 0: it does not end, or is none. */
static size_t text_len(const struct layout *l)
{
    for (size_t i = l->at + 1; i < l->len; i++) {
        if (l->text[i] == '"')
            return i + 1 - l->at;
        if (l->text[i] == '\\')
            i++;
        else if ((unsigned char)l->text[i] < ' ')
            return 0;
    }
    return 0;
}

static enum json_layout take_text(struct layout *l)
{
    bool key = l->expects == KEY || l->expects == KEY_OR_END;
    size_t len = text_len(l);

    if (!len)
        return memchr(l->text + l->at, '\n', l->len - l->at) ? JSON_LAYOUT_NONE : JSON_LAYOUT_BEGUN;
    if (key && l->expects == KEY_OR_END)
        new_line(l);
    put(l, key ? "\x1b[34m" : "\x1b[32m", l->text + l->at, len);
    l->at += len;
    l->expects = key ? COLON : behind_value(l);
    return JSON_LAYOUT_WHOLE;
}

static enum json_layout take_word(struct layout *l)
{
    static const char *const words[] = { "true", "false", "null" };
    size_t len = 0;

    while (l->at + len < l->len && isalpha((unsigned char)l->text[l->at + len]))
        len++;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (l->at + len == l->len && len < strlen(words[i]) &&
            !strncmp(words[i], l->text + l->at, len))
            return JSON_LAYOUT_BEGUN;
        if (len == strlen(words[i]) && !strncmp(words[i], l->text + l->at, len)) {
            put(l, "\x1b[35m", l->text + l->at, len);
            l->at += len;
            l->expects = behind_value(l);
            return JSON_LAYOUT_WHOLE;
        }
    }
    return JSON_LAYOUT_NONE;
}

static enum json_layout take_number(struct layout *l)
{
    size_t len = 1;

    while (l->at + len < l->len && strchr("0123456789+-.eE", l->text[l->at + len]))
        len++;
    put(l, "\x1b[36m", l->text + l->at, len);
    l->at += len;
    l->expects = behind_value(l);
    return JSON_LAYOUT_WHOLE;
}

static enum json_layout take_open(struct layout *l)
{
    if (l->depth == DEEPEST)
        return JSON_LAYOUT_NONE;
    l->open[l->depth++] = l->text[l->at];
    put(l, NULL, l->text + l->at, 1);
    l->expects = l->text[l->at] == '{' ? KEY_OR_END : VALUE_OR_END;
    l->at++;
    return JSON_LAYOUT_WHOLE;
}

static enum json_layout take_close(struct layout *l)
{
    bool empty = l->expects == KEY_OR_END || l->expects == VALUE_OR_END;

    if (!l->depth || (!empty && l->expects != COMMA_OR_END) ||
        l->open[l->depth - 1] != (l->text[l->at] == '}' ? '{' : '['))
        return JSON_LAYOUT_NONE;
    l->depth--;
    if (!empty)
        new_line(l);
    put(l, NULL, l->text + l->at++, 1);
    l->expects = behind_value(l);
    return JSON_LAYOUT_WHOLE;
}

static enum json_layout take_value(struct layout *l)
{
    char c = l->text[l->at];

    if (l->expects == VALUE_OR_END)
        new_line(l);
    if (c == '{' || c == '[')
        return take_open(l);
    if (c == '"')
        return take_text(l);
    if (c == '-' || isdigit((unsigned char)c))
        return take_number(l);
    return take_word(l);
}

static enum json_layout take(struct layout *l)
{
    char c = l->text[l->at];

    if (c == '}' || c == ']')
        return take_close(l);
    switch (l->expects) {
    case VALUE:
    case VALUE_OR_END:
        return take_value(l);
    case KEY:
    case KEY_OR_END:
        return c == '"' ? take_text(l) : JSON_LAYOUT_NONE;
    case COLON:
        if (c != ':')
            return JSON_LAYOUT_NONE;
        put(l, NULL, ": ", 2);
        l->expects = VALUE;
        break;
    case COMMA_OR_END:
        if (c != ',')
            return JSON_LAYOUT_NONE;
        put(l, NULL, ",", 1);
        new_line(l);
        l->expects = l->open[l->depth - 1] == '{' ? KEY : VALUE;
        break;
    case NOTHING:
        return JSON_LAYOUT_NONE;
    }
    l->at++;
    return JSON_LAYOUT_WHOLE;
}

enum json_layout json_layout(const char *text, size_t len, bool color, struct buf *out)
{
    struct layout l = { .text = text, .len = len, .color = color, .out = out };
    bool begun = false;

    while (l.at < len) {
        enum json_layout step;

        if (strchr(" \t\r\n", text[l.at]) && text[l.at]) {
            l.at++;
            continue;
        }
        /* A document of one number or text is as easy to read as it is. */
        if (!begun && text[l.at] != '{' && text[l.at] != '[')
            return JSON_LAYOUT_NONE;
        begun = true;
        step = take(&l);
        if (step != JSON_LAYOUT_WHOLE)
            return step;
    }
    return begun && l.expects == NOTHING ? JSON_LAYOUT_WHOLE : JSON_LAYOUT_BEGUN;
}
