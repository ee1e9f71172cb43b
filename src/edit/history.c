#include "edit/history.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OLD_HEADER "_HiStOrY_V2_"

void history_init(struct history *h)
{
    memset(h, 0, sizeof(*h));
}

void history_done(struct history *h)
{
    while (h->n)
        free(h->entries[--h->n]);
}

static void forget(struct history *h, size_t at)
{
    free(h->entries[at]);
    memmove(h->entries + at, h->entries + at + 1, (h->n - at - 1) * sizeof(*h->entries));
    h->n--;
}

bool history_add(struct history *h, const char *text, size_t len)
{
    char *entry;

    while (len && strchr(" \t\n", text[len - 1]))
        len--;
    if (!len || len > HISTORY_ENTRY_MAX)
        return false;
    entry = strndup(text, len);
    if (!entry)
        return false;
    for (size_t i = h->n; i-- > 0;)
        if (!strcmp(h->entries[i], entry))
            forget(h, i);
    if (h->n == HISTORY_ENTRIES)
        forget(h, 0);
    h->entries[h->n++] = entry;
    return true;
}

size_t history_older(const struct history *h, size_t at, const char *prefix, size_t len)
{
    while (at-- > 0)
        if (!strncmp(h->entries[at], prefix, len))
            return at;
    return h->n;
}

size_t history_newer(const struct history *h, size_t at, const char *prefix, size_t len)
{
    while (++at < h->n)
        if (!strncmp(h->entries[at], prefix, len))
            return at;
    return h->n;
}

static bool has_words(const char *entry, const char *pattern)
{
    while (*pattern) {
        size_t len = strcspn(pattern, " ");
        const char *at = entry;

        while (len && *at && strncasecmp(at, pattern, len) != 0)
            at++;
        if (len && !*at)
            return false;
        pattern += len;
        pattern += strspn(pattern, " ");
    }
    return true;
}

size_t history_search(const struct history *h, const char *pattern, size_t *ret, size_t most)
{
    size_t found = 0;

    for (size_t i = h->n; i-- > 0 && found < most;)
        if (has_words(h->entries[i], pattern))
            ret[found++] = i;
    return found;
}

static bool is_octal(const char *at, size_t left)
{
    return left >= 3 && at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' &&
           at[2] >= '0' && at[2] <= '7';
}

static void read_entry(struct history *h, const char *line, size_t len)
{
    struct buf text;

    buf_init(&text, HISTORY_ENTRY_MAX);
    for (size_t i = 0; i < len; i++) {
        char c = line[i];

        if (c == '\\' && is_octal(line + i + 1, len - i - 1)) {
            c = (char)((line[i + 1] - '0') << 6 | (line[i + 2] - '0') << 3 | (line[i + 3] - '0'));
            i += 3;
        } else if (c == '\\' && i + 1 < len && line[i + 1] == '\\') {
            i++;
        }
        (void)buf_add(&text, &c, 1);
    }
    if (!text.failed && text.len)
        (void)history_add(h, text.data, text.len);
    buf_done(&text);
}

void history_read(struct history *h, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((newline ? newline : end) - text);

        if (line != sizeof(OLD_HEADER) - 1 || memcmp(text, OLD_HEADER, line) != 0)
            read_entry(h, text, line);
        text += line + 1;
    }
}

void history_write(const char *text, size_t len, struct buf *out)
{
    while (len && strchr(" \t\n", text[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '\\')
            (void)buf_add_text(out, "\\\\");
        else if (c < 0x20 || c == 0x7f)
            (void)buf_printf(out, "\\%03o", c);
        else
            (void)buf_add(out, &c, 1);
    }
    (void)buf_add_text(out, "\n");
}
