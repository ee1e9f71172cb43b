#include "work/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SHOWN 60 /* bytes of each text in a message */

static const char *const kind_names[] = {
    [CHECK_TOKENS] = "tokens",
    [CHECK_EXACT] = "exact",
    [CHECK_FLOATS] = "floats",
};

#define N_KINDS (sizeof(kind_names) / sizeof(*kind_names))

int check_kind_from_name(const char *name)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (!strcmp(kind_names[i], name))
            return (int)i;
    return -1;
}

static bool parse_number(const char *text, size_t len, double *ret)
{
    char copy[64], *end;

    if (!len || len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *ret = strtod(copy, &end);
    return *end == '\0' && isfinite(*ret);
}

int check_parse_tolerance(const char *text, double *ret, sbr_error *err)
{
    if (!parse_number(text, strlen(text), ret) || *ret < 0)
        return err_set(err, SBR_E_INVALID, "checker",
                       "the tolerance '%.60s' is no number; write one as in 0.001 or 1e-6", text);
    return 0;
}

/* Reads words one by one, and counts lines. */
struct reader {
    struct check_text text;
    size_t at;
    unsigned long line;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct check_text next_word(struct reader *r)
{
    struct check_text word;

    for (; r->at < r->text.len && is_blank(r->text.data[r->at]); r->at++)
        r->line += r->text.data[r->at] == '\n';
    word.data = r->text.data + r->at;
    while (r->at < r->text.len && !is_blank(r->text.data[r->at]))
        r->at++;
    word.len = (size_t)(r->text.data + r->at - word.data);
    return word;
}

static bool same_bytes(struct check_text a, struct check_text b)
{
    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

static bool same_word(const struct check *check, struct check_text expected, struct check_text got)
{
    double a, b, size;

    if (same_bytes(expected, got))
        return true;
    if (check->kind != CHECK_FLOATS || !parse_number(expected.data, expected.len, &a) ||
        !parse_number(got.data, got.len, &b))
        return false;
    size = fabs(a) > 1 ? fabs(a) : 1;
    return fabs(a - b) <= check->tolerance * size;
}

static void show(char *to, size_t size, struct check_text text)
{
    char visible[SHOWN + 4];

    if (!text.len) {
        snprintf(to, size, "the end");
        return;
    }
    text_copy_visibly(visible, sizeof(visible), text.data, text.len);
    snprintf(to, size, "'%s'", visible);
}

static void tell(const struct check *check, char *difference, unsigned long line,
                 struct check_text expected, struct check_text got)
{
    char wanted[SHOWN + 8], found[SHOWN + 8];

    show(wanted, sizeof(wanted), expected);
    show(found, sizeof(found), got);
    snprintf(difference, CHECK_DIFFERENCE_SIZE, "line %lu: %s %s, %s %s", line,
             check->expected ? check->expected : "expected", wanted,
             check->got ? check->got : "got", found);
}

static bool compare_words(const struct check *check, struct check_text expected,
                          struct check_text got, char *difference)
{
    struct reader a = { .text = expected, .line = 1 }, b = { .text = got, .line = 1 };
    struct check_text wanted, found;

    do {
        wanted = next_word(&a);
        found = next_word(&b);
        if (!same_word(check, wanted, found)) {
            tell(check, difference, b.line, wanted, found);
            return false;
        }
    } while (wanted.len && found.len);
    return true;
}

static struct check_text line_at(struct check_text text, size_t begin)
{
    const char *end = begin < text.len ? memchr(text.data + begin, '\n', text.len - begin) : NULL;

    return (struct check_text){ text.data + begin,
                                end ? (size_t)(end + 1 - text.data) - begin : text.len - begin };
}

static bool compare_bytes(const struct check *check, struct check_text expected,
                          struct check_text got, char *difference)
{
    size_t shorter = expected.len < got.len ? expected.len : got.len, at = 0, begin = 0;
    unsigned long line = 1;

    while (at < shorter && expected.data[at] == got.data[at]) {
        if (expected.data[at++] == '\n') {
            begin = at;
            line++;
        }
    }
    if (at == expected.len && at == got.len)
        return true;
    tell(check, difference, line, line_at(expected, begin), line_at(got, begin));
    return false;
}

bool check_compare(const struct check *check, struct check_text expected, struct check_text got,
                   char difference[CHECK_DIFFERENCE_SIZE])
{
    difference[0] = '\0';
    if (check->kind == CHECK_EXACT)
        return compare_bytes(check, expected, got, difference);
    return compare_words(check, expected, got, difference);
}
