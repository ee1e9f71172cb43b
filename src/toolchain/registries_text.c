/* Keeps what clients read of a configuration: comments and schemas name hosts that none asks. */
#include <ctype.h>
#include <string.h>

#include "toolchain/registries.h"

#define PEM_MARK "-----BEGIN "
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The length of the line up to its comment.  A # within a word belongs to an address. */
static size_t meaningful_length(const char *line, size_t len)
{
    size_t start = 0;

    while (start < len && is_blank(line[start]))
        start++;
    if (start < len && (line[start] == '#' || line[start] == ';'))
        return 0;
    for (size_t i = start + 1; i < len; i++)
        if (line[i] == '#' && is_blank(line[i - 1]))
            return i;
    return len;
}

static void add_line(struct buf *text, const char *line, size_t len)
{
    char *room = len ? buf_extend(text, len) : NULL;

    for (size_t i = 0; room && i < len; i++)
        room[i] = line[i] ? line[i] : ' '; /* a NUL would end the text */
    buf_add(text, "\n", 1);
}

static void add_lines(struct buf *text, const char *data, size_t len)
{
    const char *end = data + len;

    while (data < end) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        size_t line = (size_t)((newline ? newline : end) - data);

        add_line(text, data, meaningful_length(data, line));
        data += line + 1;
    }
}

/* `at` follows a <; returns what follows the >.  Values of attributes may contain a >. */
static const char *skip_tag(const char *at, const char *end)
{
    char quote = '\0';

    for (; at < end && (quote || *at != '>'); at++) {
        if (quote)
            quote = *at == quote ? '\0' : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
    }
    return at < end ? at + 1 : end;
}

static const char *skip_comment(const char *at, const char *end)
{
    const char *close = memmem(at, (size_t)(end - at), "-->", 3);

    return close ? close + 3 : end;
}

/* Elements without attributes, all in one line. */
static void add_elements(struct buf *text, const char *data, size_t len)
{
    const char *end = data + len;

    while (data < end && !text->failed) {
        size_t name = 1;

        if (*data != '<') {
            buf_add(text, *data == '\n' || !*data ? " " : data, 1);
            data++;
            continue;
        }
        if (end - data >= 4 && !memcmp(data, "<!--", 4)) {
            data = skip_comment(data + 4, end);
            continue;
        }
        while (data + name < end && (isalnum((unsigned char)data[name]) || data[name] == '/'))
            name++;
        buf_add(text, data, name);
        buf_add(text, ">", 1);
        data = skip_tag(data + 1, end);
    }
    buf_add(text, "\n", 1);
}

void registries_add_text(struct buf *text, const char *data, size_t len)
{
    size_t start = 0;

    if (!data || memmem(data, len, PEM_MARK, strlen(PEM_MARK)))
        return;
    if (len >= 3 && !memcmp(data, BYTE_ORDER_MARK, 3))
        start = 3;
    while (start < len && isspace((unsigned char)data[start]))
        start++;
    if (start < len && data[start] == '<')
        add_elements(text, data + start, len - start);
    else
        add_lines(text, data + start, len - start);
}
