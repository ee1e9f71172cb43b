#include "base/json_read.h"

#include <limits.h>
#include <stdbool.h>
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

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return p;
}

/* Behind the value that begins at `p`, or where it is cut short. */
static const char *skip_value(const char *p, const char *end)
{
    size_t depth = 0;

    while (p < end) {
        bool opens = *p == '{' || *p == '[', closes = *p == '}' || *p == ']';

        if (!depth && (closes || *p == ','))
            return p;
        p = *p == '"' ? skip_string(p + 1, end) : p + 1;
        depth += opens;
        depth -= closes;
        if (!depth && (closes || p[-1] == '"'))
            return p;
    }
    return end;
}

/* The character that follows, behind white space; 0: the text ends. */
static char next_of(const char **p, const char *end)
{
    *p = skip_space(*p, end);
    return *p < end ? **p : '\0';
}

static int refuse_broken(const struct json_each *each, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "json", "the text around %s is not valid JSON", each->what);
}

/* `*p` is behind the bracket that opens the array, and then behind the one that closes it. */
static int read_elements(const struct json_each *each, const char **p, const char *end,
                         sbr_error *err)
{
    char next = next_of(p, end);

    while (next && next != ']') {
        const char *after = skip_value(*p, end);
        json_t *element =
            json_read(*p, (size_t)(after - *p), each->most, JSON_DECODE_ANY, each->what, err);
        int r = element ? each->visit(each->context, element, err) : err->code;

        json_decref(element);
        if (r < 0)
            return r;
        *p = after;
        next = next_of(p, end);
        if (next != ',')
            break;
        ++*p;
        next = next_of(p, end);
    }
    if (next != ']')
        return refuse_broken(each, err);
    ++*p;
    return 0;
}

int json_read_each(const char *text, size_t len, const struct json_each *each, sbr_error *err)
{
    const char *p = text, *end = text + len;
    char next = next_of(&p, end);

    if (next != '{')
        return refuse_broken(each, err);
    do {
        const char *key;
        bool wanted;

        p++;
        if (next_of(&p, end) == '}' && next == '{')
            return 0;
        key = p;
        if (p == end || *p != '"')
            return refuse_broken(each, err);
        p = skip_string(p + 1, end);
        wanted = (size_t)(p - key) == strlen(each->key) + 2 &&
                 !memcmp(key + 1, each->key, strlen(each->key));
        if (next_of(&p, end) != ':')
            return refuse_broken(each, err);
        p++;
        if (next_of(&p, end) == '[' && wanted) {
            p++;
            if (read_elements(each, &p, end, err) < 0)
                return err->code;
        } else {
            p = skip_value(p, end);
        }
        next = next_of(&p, end);
    } while (next == ',');
    return next == '}' ? 0 : refuse_broken(each, err);
}
