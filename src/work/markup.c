#include "work/markup.h"

#include "base/buf.h"

void markup_escape(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            buf_add_text(out, "&lt;");
            break;
        case '>':
            buf_add_text(out, "&gt;");
            break;
        case '&':
            buf_add_text(out, "&amp;");
            break;
        case '"':
            buf_add_text(out, "&quot;");
            break;
        case '\n':
            buf_add_text(out, "&#10;");
            break;
        default:
            buf_add(out, text, 1);
        }
    }
}
