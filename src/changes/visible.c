/* Untrusted text, for a terminal. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "changes/textdiff.h"

#define LINE_MOST 4000 /* bytes of a line that are shown */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static const struct {
    char c;
    const char *shown;
} escapes[] = {
    { '\a', "\\a" }, { '\b', "\\b" }, { '\f', "\\f" }, { '\n', "\\n" },  { '\r', "\\r" },
    { '\t', "\\t" }, { '\v', "\\v" }, { '"', "\\\"" }, { '\\', "\\\\" },
};

static void put_escape(struct buf *out, char c)
{
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
        if (escapes[i].c == c) {
            buf_add_text(out, escapes[i].shown);
            return;
        }
    }
    buf_printf(out, "\\%03o", (unsigned char)c);
}

void visible_put_name(struct buf *out, const char *name)
{
    size_t len = strlen(name), n = 1;

    for (size_t i = 0; i < len && n; i += n)
        n = text_visible_len(name + i, len - i);
    if (n) {
        buf_add(out, name, len);
        return;
    }
    buf_add_text(out, "\"");
    for (size_t i = 0; i < len; i += n ? n : 1) {
        n = text_visible_len(name + i, len - i);
        if (n && name[i] != '"' && name[i] != '\\')
            buf_add(out, name + i, n);
        else
            put_escape(out, name[i]);
    }
    buf_add_text(out, "\"");
}

void visible_put(struct buf *out, const char *line, size_t len)
{
    size_t most = len > LINE_MOST ? LINE_MOST : len, n;

    for (size_t i = 0; i < most; i += n ? n : 1) {
        size_t plain = 0;

        while (i + plain < most &&
               (is_plain((unsigned char)line[i + plain]) || line[i + plain] == '\t'))
            plain++;
        n = plain ? plain : text_visible_len(line + i, len - i);
        if (n)
            buf_add(out, line + i, n);
        else if (line[i] == '\r')
            buf_add_text(out, "\\r");
        else
            buf_printf(out, "\\x%02x", (unsigned char)line[i]);
    }
    if (most < len)
        buf_printf(out, "... (%zu more bytes)", len - most);
}
