#include "base/jsonw.h"

#include <inttypes.h>
#include <string.h>

void jsonw_init(struct jsonw *j, bool pretty)
{
    *j = (struct jsonw){ .pretty = pretty, .first = true };
    buf_init(&j->out, SIZE_MAX / 2);
}

char *jsonw_take(struct jsonw *j)
{
    char *text = buf_take(&j->out, NULL);

    buf_done(&j->out);
    return text;
}

static void new_line(struct jsonw *j)
{
    if (!j->pretty)
        return;
    buf_add(&j->out, "\n", 1);
    for (unsigned int i = 0; i < j->depth; i++)
        buf_add(&j->out, "  ", 2);
}

/* Runs of ordinary bytes are copied whole: most output is nothing else. */
static void add_quoted(struct jsonw *j, const char *text, size_t len)
{
    const char *end = text + len;

    buf_add(&j->out, "\"", 1);
    while (text < end) {
        const char *stop = text;

        while (stop < end && (unsigned char)*stop >= 0x20 && *stop != '"' && *stop != '\\' &&
               *stop != 0x7f)
            stop++;
        buf_add(&j->out, text, (size_t)(stop - text));
        text = stop;
        if (text == end)
            break;
        if (*text == '\n')
            buf_add(&j->out, "\\n", 2);
        else if (*text == '"' || *text == '\\')
            buf_printf(&j->out, "\\%c", *text);
        else
            buf_printf(&j->out, "\\u%04x", (unsigned int)(unsigned char)*text);
        text++;
    }
    buf_add(&j->out, "\"", 1);
}

/* The comma and the key that stand before a value. */
static void begin_value(struct jsonw *j, const char *key)
{
    if (!j->first)
        buf_add(&j->out, ",", 1);
    if (j->depth)
        new_line(j);
    j->first = false;
    if (key) {
        add_quoted(j, key, strlen(key));
        buf_add_text(&j->out, j->pretty ? ": " : ":");
    }
}

void jsonw_open(struct jsonw *j, const char *key, char bracket)
{
    begin_value(j, key);
    buf_add(&j->out, &bracket, 1);
    j->depth++;
    j->first = true;
}

void jsonw_close(struct jsonw *j, char bracket)
{
    j->depth--;
    if (!j->first)
        new_line(j);
    buf_add(&j->out, &bracket, 1);
    j->first = false;
}

void jsonw_bytes(struct jsonw *j, const char *key, const char *text, size_t len)
{
    begin_value(j, key);
    add_quoted(j, text, len);
}

void jsonw_text(struct jsonw *j, const char *key, const char *text)
{
    if (text)
        jsonw_bytes(j, key, text, strlen(text));
    else
        jsonw_null(j, key);
}

void jsonw_number(struct jsonw *j, const char *key, uint64_t value)
{
    jsonw_fixed(j, key, value, 0);
}

void jsonw_fixed(struct jsonw *j, const char *key, uint64_t value, unsigned int decimals)
{
    uint64_t scale = 1;

    for (unsigned int i = 0; i < decimals; i++)
        scale *= 10;
    begin_value(j, key);
    buf_printf(&j->out, "%" PRIu64, value / scale);
    value %= scale;
    for (; decimals && value % 10 == 0; decimals--)
        value /= 10;
    if (decimals)
        buf_printf(&j->out, ".%0*" PRIu64, (int)decimals, value);
}

void jsonw_bool(struct jsonw *j, const char *key, bool value)
{
    begin_value(j, key);
    buf_add_text(&j->out, value ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
    begin_value(j, key);
    buf_add_text(&j->out, "null");
}

void jsonw_names(struct jsonw *j, const char *key, const char *const *names, size_t n)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        jsonw_text(j, NULL, names[i]);
    jsonw_close(j, ']');
}
