#include "base/json_read.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* An empty object, the largest of all values, with its place in an array. */
#define VALUE_MEMORY 256

const struct json_bounds json_read_document = {
    .bytes = (size_t)64 << 20,
    .values = 100000,
    .depth = 64,
};

const struct json_bounds json_read_line = {
    .bytes = (size_t)1 << 20,
    .values = 4096,
    .depth = 32,
};

/* 10,000 changes and 10,000 outputs, with what is said about each, are 160,000 values. */
const struct json_bounds json_read_answer = {
    .bytes = (size_t)1 << 30,
    .values = 500000,
    .depth = 128,
};

/* The end of a string whose first byte is at `p`: behind its quote, or the end of the text. */
static const char *skip_string(const char *p, const char *end)
{
    while (p < end) {
        const char *quote = memchr(p, '"', (size_t)(end - p)), *escape;

        if (!quote)
            return end;
        escape = memchr(p, '\\', (size_t)(quote - p));
        if (!escape)
            return quote + 1;
        p = escape + 2;
    }
    return end;
}

/* Counts until a bound is passed.  What it found: */
struct scan {
    size_t values;
    unsigned int depth;
};

static struct scan scan(const char *text, size_t len, const struct json_bounds *most)
{
    const char *p = text, *end = text + len;
    struct scan s = { .values = 1 };

    while (p < end && s.values <= most->values && s.depth <= most->depth) {
        switch (*p++) {
        case '"':
            p = skip_string(p, end);
            break;
        case '{':
        case '[':
            s.depth++;
            s.values++;
            break;
        case '}':
        case ']':
            s.depth -= s.depth > 0;
            break;
        case ',':
            s.values++;
            break;
        }
    }
    return s;
}

int json_read_scan(const char *text, size_t len, const struct json_bounds *most, const char *what,
                   sbr_error *err)
{
    struct scan found;

    if (len > most->bytes)
        return err_set(err, SBR_E_INVALID, "json", "%s has %zu bytes; at most %zu are read", what,
                       len, most->bytes);
    found = scan(text, len, most);
    if (found.depth > most->depth)
        return err_set(err, SBR_E_INVALID, "json", "%s is nested more than %u levels deep", what,
                       most->depth);
    if (found.values > most->values)
        return err_set(err, SBR_E_INVALID, "json", "%s has more than %zu values", what,
                       most->values);
    return 0;
}

size_t json_read_memory(const char *text, size_t len)
{
    static const struct json_bounds none = { .values = SIZE_MAX, .depth = UINT_MAX };

    return 2 * len + VALUE_MEMORY * scan(text, len, &none).values;
}

json_t *json_read(const char *text, size_t len, const struct json_bounds *most, size_t flags,
                  const char *what, sbr_error *err)
{
    sbr_error ignored;
    json_error_t where;
    json_t *root;

    if (!err)
        err = &ignored;
    if (json_read_scan(text, len, most, what, err) < 0)
        return NULL;
    root = json_loadb(text, len, flags, &where);
    if (!root)
        err_set(err, SBR_E_INVALID, "json", "%s is not valid JSON: line %d, column %d: %.120s",
                what, where.line, where.column, where.text);
    return root;
}

json_t *json_read_own(const char *text, size_t flags)
{
    return text ? json_read(text, strlen(text), &json_read_answer, flags, "the answer", NULL)
                : NULL;
}
