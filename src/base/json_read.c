#include "base/json_read.h"

#include <stdbool.h>
#include <string.h>

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

int json_read_scan(const char *text, size_t len, const struct json_bounds *most, const char *what,
                   sbr_error *err)
{
    const char *p = text, *end = text + len;
    unsigned int depth = 0;
    size_t values = 1;

    if (len > most->bytes)
        return err_set(err, SBR_E_INVALID, "json", "%s has %zu bytes; at most %zu are read", what,
                       len, most->bytes);
    while (p < end) {
        switch (*p++) {
        case '"':
            p = skip_string(p, end);
            break;
        case '{':
        case '[':
            if (++depth > most->depth)
                return err_set(err, SBR_E_INVALID, "json", "%s is nested more than %u levels deep",
                               what, most->depth);
            values++;
            break;
        case '}':
        case ']':
            depth -= depth > 0;
            break;
        case ',':
            values++;
            break;
        }
        if (values > most->values)
            return err_set(err, SBR_E_INVALID, "json", "%s has more than %zu values", what,
                           most->values);
    }
    return 0;
}

json_t *json_read(const char *text, size_t len, const struct json_bounds *most, size_t flags,
                  const char *what, sbr_error *err)
{
    json_error_t where;
    json_t *root;

    if (json_read_scan(text, len, most, what, err) < 0)
        return NULL;
    root = json_loadb(text, len, flags, &where);
    if (!root)
        err_set(err, SBR_E_INVALID, "json", "%s is not valid JSON: line %d, column %d: %.120s",
                what, where.line, where.column, where.text);
    return root;
}
