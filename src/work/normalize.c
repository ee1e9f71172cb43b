#include "work/normalize.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LONGEST 4096 /* of what one normaliser looks at */

/* A place in the text: what is behind it, up to `end`. */
struct place {
    const char *at, *end;
};

static size_t count(struct place p, size_t from, int (*is)(int))
{
    size_t n = 0;

    while (p.at + from + n < p.end && n < LONGEST && is((unsigned char)p.at[from + n]))
        n++;
    return n;
}

static bool has(struct place p, size_t at, char c)
{
    return p.at + at < p.end && p.at[at] == c;
}

static bool is_word(struct place p, size_t at)
{
    return p.at + at < p.end && (isalnum((unsigned char)p.at[at]) || p.at[at] == '_');
}

/* Each returns how many bytes it takes, 0 for none, and what stands in their place. */
typedef size_t taker(struct place p, struct buf *out);

static size_t take_uuid(struct place p)
{
    static const unsigned char groups[] = { 8, 4, 4, 4, 12 };
    size_t n = 0;

    for (size_t i = 0; i < sizeof(groups); i++) {
        if (i && !has(p, n++, '-'))
            return 0;
        if (count(p, n, isxdigit) != groups[i])
            return 0;
        n += groups[i];
    }
    return n;
}

/* A UUID, or 16 hexadecimal digits and more; a long number is none. */
static size_t take_id(struct place p, struct buf *out)
{
    size_t n = take_uuid(p), digits;

    if (!n) {
        n = count(p, 0, isxdigit);
        digits = count(p, 0, isdigit);
        if (n < 16 || digits == n)
            return 0;
    }
    if (is_word(p, n))
        return 0;
    buf_add_text(out, "<id>");
    return n;
}

static size_t take_address(struct place p, struct buf *out)
{
    size_t n = has(p, 0, '0') && has(p, 1, 'x') ? count(p, 2, isxdigit) : 0;

    if (n < 4 || is_word(p, n + 2))
        return 0;
    buf_add_text(out, "<address>");
    return n + 2;
}

/* DIGITS SEPARATOR DIGITS ..., as many as `lengths` has; how many bytes they take. */
static size_t digit_groups(struct place p, size_t from, const char *lengths, char separator)
{
    size_t n = from;

    for (const char *length = lengths; *length; length++) {
        if (length > lengths && !has(p, n++, separator))
            return 0;
        if (count(p, n, isdigit) != (size_t)(*length - '0'))
            return 0;
        n += (size_t)(*length - '0');
    }
    return n - from;
}

static size_t fraction(struct place p, size_t from)
{
    size_t n = has(p, from, '.') || has(p, from, ',') ? count(p, from + 1, isdigit) : 0;

    return n ? n + 1 : 0;
}

static size_t zone(struct place p, size_t from)
{
    size_t n;

    if (has(p, from, 'Z'))
        return 1;
    if (!has(p, from, '+') && !has(p, from, '-'))
        return 0;
    n = digit_groups(p, from + 1, "22", ':');
    n = n ? n : digit_groups(p, from + 1, "4", ' ');
    return n ? n + 1 : 0;
}

/* 12:34:56.789Z, as far as no longer word begins in it. */
static size_t clock_time(struct place p, size_t from)
{
    size_t n = digit_groups(p, from, "222", ':'), end, more;

    if (!n && !(n = digit_groups(p, from, "22", ':')))
        return 0;
    end = from + n;
    more = fraction(p, end);
    if (!is_word(p, end + more + zone(p, end + more)))
        return n + more + zone(p, end + more);
    return is_word(p, end + more) ? n : n + more;
}

/* 1.5 s, 20ms */
static size_t duration(struct place p)
{
    static const char *const units[] = { "ns", "us", "ms", "seconds", "sec", "s", "min" };
    size_t n = count(p, 0, isdigit);

    if (!n)
        return 0;
    n += fraction(p, n);
    n += has(p, n, ' ');
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        size_t len = strlen(units[i]);

        if ((size_t)(p.end - p.at) >= n + len && !memcmp(p.at + n, units[i], len) &&
            !is_word(p, n + len))
            return n + len;
    }
    return 0;
}

static size_t take_time(struct place p, struct buf *out)
{
    size_t n = digit_groups(p, 0, "422", '-'), more;

    if (!n) {
        n = clock_time(p, 0);
    } else if (has(p, n, 'T') || has(p, n, ' ')) {
        more = clock_time(p, n + 1);
        n += more ? more + 1 : 0;
    }
    if (!n)
        n = duration(p);
    if (!n || is_word(p, n))
        return 0;
    buf_add_text(out, "<time>");
    return n;
}

static int is_of_path(int c)
{
    return c > ' ' && !strchr("\"'<>:,;()[]{}|`", c);
}

/* An absolute path of two parts and more: its last part stays, for the others to look at. */
static size_t take_path(struct place p, struct buf *out)
{
    size_t n = has(p, 0, '/') ? count(p, 0, is_of_path) : 0;
    const char *last = n > 1 ? memrchr(p.at, '/', n) : NULL;

    if (!last || last == p.at)
        return 0;
    buf_add_text(out, "<path>");
    return (size_t)(last - p.at);
}

/* 1.2345678901 -> 1.23457: six digits that count; the point is a point in every locale. */
static size_t take_float(struct place p, struct buf *out)
{
    size_t digits = count(p, 0, isdigit), n = 0, exponent;
    char text[64], shown[32];
    char *comma;

    if (digits && has(p, digits, '.'))
        n = count(p, digits + 1, isdigit);
    if (!n)
        return 0;
    n += digits + 1;
    if (has(p, n, 'e') || has(p, n, 'E')) {
        size_t sign = has(p, n + 1, '+') || has(p, n + 1, '-');

        exponent = count(p, n + 1 + sign, isdigit);
        n += exponent ? 1 + sign + exponent : 0;
    }
    if (is_word(p, n) || has(p, n, '.') || n >= sizeof(text))
        return 0;
    memcpy(text, p.at, n);
    text[n] = '\0';
    snprintf(shown, sizeof(shown), "%.6g", strtod(text, NULL));
    comma = strchr(shown, ',');
    if (comma)
        *comma = '.';
    buf_add_text(out, shown);
    return n;
}

/* In this order: an id has digits that could begin a time.  Floats are the last. */
static const struct {
    const char *name;
    taker *take;
} normalizers[] = {
    { "ids", take_id },     { "addresses", take_address }, { "times", take_time },
    { "paths", take_path }, { "floats", take_float },
};

#define N (sizeof(normalizers) / sizeof(*normalizers))

static int find(const char *word, size_t len)
{
    for (size_t i = 0; i < N; i++)
        if (strlen(normalizers[i].name) == len && !memcmp(normalizers[i].name, word, len))
            return (int)i;
    return -1;
}

int normalize_parse(const char *text, unsigned int *ret, sbr_error *err)
{
    static const char between[] = " \t\r\n,";

    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        size_t len = strcspn(text, between);
        int i = find(text, len);

        if (i < 0)
            return err_set(err, SBR_E_INVALID, "normalize",
                           "there is no normaliser '%.*s'; give ids, addresses, times, paths or "
                           "floats",
                           len < 60 ? (int)len : 60, text);
        *ret |= 1u << i;
        text += len;
    }
    return 0;
}

static size_t take(unsigned int which, struct place p, struct buf *out)
{
    for (size_t i = 0; i < N; i++) {
        size_t n = which >> i & 1 ? normalizers[i].take(p, out) : 0;

        if (n)
            return n;
    }
    return 0;
}

static void pass(unsigned int which, const char *text, size_t len, struct buf *out)
{
    struct place p = { text, text + len };
    bool inside = false; /* of a word, or of what a normaliser wrote earlier */

    while (p.at < p.end) {
        size_t n = inside ? 0 : take(which, p, out);

        if (!n) {
            n = 1;
            buf_add(out, p.at, 1);
        }
        inside = isalnum((unsigned char)p.at[n - 1]) || strchr("_.>", p.at[n - 1]);
        p.at += n;
    }
}

/* A float loses digits: of 12.0:36 stays 12:36, which is a time.  The others write words that no
 * normaliser takes, and a float that was written stays, so that a second pass is enough. */
int normalize_text(unsigned int which, const char *text, size_t len, struct buf *out)
{
    const unsigned int floats = 1u << (N - 1);
    struct buf first;

    if (!(which & floats) || which == floats) {
        pass(which, text, len, out);
        return out->failed ? -1 : 0;
    }
    buf_init(&first, out->max);
    pass(which, text, len, &first);
    if (first.data)
        pass(which, first.data, first.len, out);
    out->failed |= first.failed;
    buf_done(&first);
    return out->failed ? -1 : 0;
}
