#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* clang-format off */
static const struct unit size_units[] = {
    { "", 1 }, { "b", 1 },
    { "k", KIB }, { "kb", KIB }, { "kib", KIB },
    { "m", MIB }, { "mb", MIB }, { "mib", MIB },
    { "g", GIB }, { "gb", GIB }, { "gib", GIB },
    { "t", TIB }, { "tb", TIB }, { "tib", TIB },
    { NULL, 0 },
};
static const struct unit duration_units[] = {
    { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 },
    { NULL, 0 },
};
static const struct unit milli_units[] = { { "", 1000 }, { NULL, 0 } };
static const struct unit count_units[] = { { "", 1 }, { NULL, 0 } };
/* clang-format on */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum text_fault parse_whole(const char **cursor, uint64_t *ret)
{
    uint64_t value = 0;

    for (; is_digit(**cursor); (*cursor)++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(**cursor - '0'), &value))
            return TEXT_TOO_LARGE;
    }
    *ret = value;
    return TEXT_OK;
}

/* The digits after the point, as a fraction of `scale` = 10^digits; at most nine of them. */
static enum text_fault parse_fraction(const char **cursor, uint64_t *ret, uint64_t *ret_scale)
{
    uint64_t value = 0, scale = 1;

    for (; is_digit(**cursor); (*cursor)++) {
        if (scale == 1000000000)
            return TEXT_TOO_FINE;
        value = value * 10 + (uint64_t)(**cursor - '0');
        scale *= 10;
    }
    *ret = value;
    *ret_scale = scale;
    return scale == 1 ? TEXT_NOT_A_NUMBER : TEXT_OK;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name; units++)
        if (!strcasecmp(units->name, name))
            return units;
    return NULL;
}

/* NUMBER[.FRACTION][UNIT]: no sign, no exponent, no "inf" or "nan", no space. */
static enum text_fault parse_scaled(const char *text, const struct unit *units, uint64_t *ret)
{
    uint64_t whole = 0, fraction = 0, scale = 1, value;
    unsigned __int128 part; /* nine digits of a terabyte are more than 64 bits */
    const struct unit *unit;
    enum text_fault fault;

    if (!*text)
        return TEXT_EMPTY;
    if (*text == '-')
        return TEXT_NEGATIVE;
    if (!is_digit(*text))
        return TEXT_NOT_A_NUMBER;
    fault = parse_whole(&text, &whole);
    if (fault == TEXT_OK && *text == '.') {
        text++;
        fault = parse_fraction(&text, &fraction, &scale);
    }
    if (fault != TEXT_OK)
        return fault;

    unit = find_unit(units, text);
    if (!unit)
        return TEXT_BAD_UNIT;
    part = (unsigned __int128)fraction * unit->factor;
    if (__builtin_mul_overflow(whole, unit->factor, &value) ||
        __builtin_add_overflow(value, (uint64_t)(part / scale), &value))
        return TEXT_TOO_LARGE;
    if (part % scale != 0 && unit->factor <= 1000)
        return TEXT_TOO_FINE; /* "0.0001s" would silently become zero */
    *ret = value;
    return TEXT_OK;
}

enum text_fault text_parse_count(const char *text, uint64_t *ret)
{
    return parse_scaled(text, count_units, ret);
}

enum text_fault text_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse_scaled(text, size_units, ret_bytes);
}

enum text_fault text_parse_duration(const char *text, uint64_t *ret_ms)
{
    return parse_scaled(text, duration_units, ret_ms);
}

enum text_fault text_parse_millis(const char *text, uint64_t *ret_thousandths)
{
    return parse_scaled(text, milli_units, ret_thousandths);
}

const char *text_fault_reason(enum text_fault fault)
{
    static const char *const reasons[] = {
        [TEXT_OK] = "is fine",
        [TEXT_EMPTY] = "is empty",
        [TEXT_NEGATIVE] = "is negative",
        [TEXT_NOT_A_NUMBER] = "is not a number",
        [TEXT_BAD_UNIT] = "has an unknown unit",
        [TEXT_TOO_LARGE] = "is too large to count",
        [TEXT_TOO_FINE] = "has too many digits after the point",
    };

    return reasons[fault];
}

/* The largest unit that divides the value, so that the text reads back exactly. */
static void format_scaled(uint64_t value, const struct unit *units, char *buf, size_t size)
{
    const struct unit *best = units;

    for (const struct unit *unit = units; unit->name; unit++)
        if (value && value % unit->factor == 0 && unit->factor > best->factor)
            best = unit;
    snprintf(buf, size, "%" PRIu64 "%s", value / best->factor, best->name);
}

void text_format_size(uint64_t bytes, char *buf, size_t size)
{
    /* clang-format off */
    static const struct unit units[] = {
        { "b", 1 }, { "k", KIB }, { "m", MIB }, { "g", GIB }, { "t", TIB }, { NULL, 0 },
    };
    /* clang-format on */

    format_scaled(bytes, units, buf, size);
}

void text_format_duration(uint64_t ms, char *buf, size_t size)
{
    format_scaled(ms, duration_units + 1, buf, size);
}

void text_format_millis(uint64_t thousandths, char *buf, size_t size)
{
    uint64_t whole = thousandths / 1000, rest = thousandths % 1000;

    if (rest == 0)
        snprintf(buf, size, "%" PRIu64, whole);
    else if (rest % 100 == 0)
        snprintf(buf, size, "%" PRIu64 ".%" PRIu64, whole, rest / 100);
    else
        snprintf(buf, size, "%" PRIu64 ".%03" PRIu64, whole, rest);
}

#define MOST_LETTERS 47

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from one short word to the
 * other; anything longer than a row is far away. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][MOST_LETTERS + 1]; /* the last three, in turn */
    size_t len_a = strlen(a), len_b = strlen(b);

    if (len_b > MOST_LETTERS)
        return 99;
    for (size_t i = 0; i <= len_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            if (i == 0) {
                row[j] = j;
                continue;
            }
            row[j] =
                smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], second[j - 2] + 1);
        }
    }
    return rows[len_a % 3][len_b];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_distance = 3;

    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(word, candidates[i]);

        /* Of a short word another letter makes another word. */
        if (distance < best_distance && distance * 2 < strlen(word) + (distance == 1)) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}

size_t text_character_len(const void *text, size_t left)
{
    const unsigned char *p = text;
    static const struct {
        unsigned char lead_mask, lead, second_min, second_max;
        size_t len;
    } forms[] = {
        { 0x80, 0x00, 0x00, 0x00, 1 }, { 0xff, 0xe0, 0xa0, 0xbf, 3 }, { 0xff, 0xed, 0x80, 0x9f, 3 },
        { 0xf0, 0xe0, 0x80, 0xbf, 3 }, { 0xff, 0xf0, 0x90, 0xbf, 4 }, { 0xff, 0xf4, 0x80, 0x8f, 4 },
        { 0xfc, 0xf0, 0x80, 0xbf, 4 }, { 0xe0, 0xc0, 0x80, 0xbf, 2 },
    };

    if (p[0] == 0xc0 || p[0] == 0xc1)
        return 0;
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        if ((p[0] & forms[f].lead_mask) != forms[f].lead)
            continue;
        if (forms[f].len > left)
            return 0;
        if (forms[f].len > 1 && (p[1] < forms[f].second_min || p[1] > forms[f].second_max))
            return 0;
        for (size_t i = 2; i < forms[f].len; i++)
            if ((p[i] & 0xc0) != 0x80)
                return 0;
        return forms[f].len;
    }
    return 0;
}

/* Length of the leading part that is plain ASCII, found eight bytes at a time. */
static size_t ascii_prefix(const unsigned char *p, size_t len)
{
    const uint64_t high = 0x8080808080808080ULL;
    size_t n = 0;
    uint64_t word[4];

    for (; len - n >= sizeof(word); n += sizeof(word)) {
        memcpy(word, p + n, sizeof(word));
        if ((word[0] | word[1] | word[2] | word[3]) & high)
            break;
    }
    for (; len - n >= sizeof(*word); n += sizeof(*word)) {
        memcpy(word, p + n, sizeof(*word));
        if (*word & high)
            break;
    }
    return n;
}

bool text_is_utf8(const void *data, size_t len)
{
    const unsigned char *p = data;

    while (len) {
        size_t n = ascii_prefix(p, len);

        if (n == 0)
            n = text_character_len(p, len);
        if (!n)
            return false;
        p += n;
        len -= n;
    }
    return true;
}

bool text_is_relative_path(const char *path, size_t max)
{
    size_t len = strlen(path);

    if (len == 0 || len > max)
        return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t part_len = strcspn(part, "/");

        if (part_len == 0 || part_len > 255 || (part_len == 1 && part[0] == '.') ||
            (part_len == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

bool text_is_safe_relative_path(const char *path, size_t max)
{
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return text_is_relative_path(path, max);
}

#define ELLIPSIS "..."

/* Characters that a terminal obeys, that change the direction of reading, or that a model reads
 * and a person does not see: Unicode's Cc, Cf, Zl, Zp and Default_Ignorable_Code_Point, in order.
 * tests/unit/test_invisible.py compares them with what Python and Perl know. */
/* clang-format off */
static const struct {
    uint32_t first, last;
} unseen[] = {
    { 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 },
    { 0x61c, 0x61c }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 },
    { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
    { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
    { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x110bd, 0x110bd },
    { 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
    { 0xe0000, 0xe0fff },
};
/* clang-format on */

/* Of a well-formed character. */
static uint32_t code_point(const unsigned char *c, size_t len)
{
    static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t point = c[0] & lead_bits[len];

    for (size_t i = 1; i < len; i++)
        point = point << 6 | (c[i] & 0x3f);
    return point;
}

static bool is_treacherous(const unsigned char *c, size_t len)
{
    uint32_t point = code_point(c, len);
    size_t i = 0;

    while (i < sizeof(unseen) / sizeof(unseen[0]) && unseen[i].last < point)
        i++;
    return i < sizeof(unseen) / sizeof(unseen[0]) && unseen[i].first <= point;
}

size_t text_visible_len(const char *text, size_t left)
{
    size_t n = text_character_len(text, left);

    return n && !is_treacherous((const unsigned char *)text, n) ? n : 0;
}

void text_copy_visibly(char *to, size_t size, const char *from, size_t len)
{
    static const char digits[] = "0123456789abcdef"; /* snprintf takes a second for 10 MB */
    size_t used = 0, fits = 0;                       /* `fits`: where dots would still have room */
    const unsigned char *in = (const unsigned char *)from;

    for (size_t i = 0; i < len;) {
        size_t n = text_character_len(in + i, len - i), step = n ? n : 1;
        bool hide = n == 0 || is_treacherous(in + i, n);
        size_t need = hide ? 4 * step : step;

        if (used + need >= size) {
            memcpy(to + fits, ELLIPSIS, sizeof(ELLIPSIS));
            return;
        }
        for (size_t k = 0; hide && k < step; k++) {
            const char shown[] = { '\\', 'x', digits[in[i + k] >> 4], digits[in[i + k] & 15] };

            memcpy(to + used + 4 * k, shown, sizeof(shown));
        }
        if (!hide)
            memcpy(to + used, in + i, step);
        used += need;
        i += step;
        if (used + sizeof(ELLIPSIS) <= size)
            fits = used;
    }
    to[used] = '\0';
}

char *text_format(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

const char *text_ends(const char *text, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && !memcmp(text + len - n, with, n) ? text + len - n : NULL;
}

bool text_list_has(const char *list, const char *word)
{
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len == strlen(word) && !memcmp(list, word, len))
            return true;
    }
    return false;
}
