/* The forms in which a value may come back. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/err.h"
#include "secrets/mask.h"

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The digits that `len` bytes alone decide when `before` others (0 to 2) stand in front. */
static size_t to_base64(const char *digits, const char *data, size_t len, unsigned int before,
                        char *to)
{
    size_t first = (8 * before + 5) / 6, end = 8 * (before + len) / 6;

    for (size_t i = first; i < end; i++) {
        unsigned int digit = 0;

        for (size_t bit = 6 * i; bit < 6 * i + 6; bit++) {
            size_t at = bit - 8 * (size_t)before;

            digit = digit << 1 | ((unsigned char)data[at / 8] >> (7 - at % 8) & 1);
        }
        to[i - first] = digits[digit];
    }
    return end - first;
}

struct escapes {
    bool everything; /* not only what is reserved in URLs */
    bool lower;
    bool bare; /* hexadecimal without '%' */
};

static bool is_unreserved(char c)
{
    return isalnum((unsigned char)c) || strchr("-._~", c) != NULL;
}

static size_t to_percent(const struct escapes *how, const char *data, size_t len, char *to)
{
    const char *digits = how->lower ? "0123456789abcdef" : "0123456789ABCDEF";
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];

        if (!how->everything && is_unreserved(data[i])) {
            to[n++] = data[i];
            continue;
        }
        if (!how->bare)
            to[n++] = '%';
        to[n++] = digits[c >> 4];
        to[n++] = digits[c & 15];
    }
    return n;
}

static size_t to_json(const char *data, size_t len, bool slashes, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (data[i] == '"' || data[i] == '\\' || (slashes && data[i] == '/'))
            to[n++] = '\\';
        to[n++] = data[i];
    }
    return n;
}

/* Two buffers, for a form of the value and the same form of what is put. */
struct pair {
    struct mask *mask;
    const char *find, *put;
    size_t len;
    unsigned int which;
    char *a, *b;
};

static int add_form(struct pair *p, size_t n, size_t n_put)
{
    if (!p->put || n_put != n)
        memset(p->b, 'x', n);
    return mask_add(p->mask, p->a, p->b, n, p->which);
}

static int add_base64(struct pair *p, const char *digits)
{
    for (unsigned int before = 0; before < 3; before++) {
        size_t n = to_base64(digits, p->find, p->len, before, p->a);
        size_t n_put = p->put ? to_base64(digits, p->put, p->len, before, p->b) : 0;

        if (add_form(p, n, n_put) < 0)
            return -1;
    }
    return 0;
}

static int add_escapes(struct pair *p)
{
    for (unsigned int i = 0; i < 6; i++) {
        const struct escapes how = { .lower = i & 1, .everything = i >= 2, .bare = i >= 4 };
        size_t n = to_percent(&how, p->find, p->len, p->a);

        if (add_form(p, n, p->put ? to_percent(&how, p->put, p->len, p->b) : 0) < 0)
            return -1;
    }
    return 0;
}

static int add_json(struct pair *p)
{
    for (unsigned int slashes = 0; slashes < 2; slashes++) {
        size_t n = to_json(p->find, p->len, slashes, p->a);

        if (add_form(p, n, p->put ? to_json(p->put, p->len, slashes, p->b) : 0) < 0)
            return -1;
    }
    return 0;
}

static int add_plain(struct pair *p)
{
    memcpy(p->a, p->find, p->len);
    if (p->put)
        memcpy(p->b, p->put, p->len);
    return add_form(p, p->len, p->len);
}

typedef int add_some(struct pair *p);

static int add_all(struct pair *p)
{
    return add_plain(p) < 0 || add_base64(p, base64) < 0 || add_base64(p, base64_url) < 0 ||
                   add_escapes(p) < 0 || add_json(p) < 0
               ? -1
               : 0;
}

static int with_room(struct pair *p, add_some *add)
{
    size_t room = 3 * p->len + 8;
    int r = -1;

    if (p->len < MASK_SHORTEST)
        return 0;
    p->a = malloc(room);
    p->b = malloc(room);
    if (p->a && p->b)
        r = add(p);
    if (p->a)
        explicit_bzero(p->a, room);
    if (p->b)
        explicit_bzero(p->b, room);
    free(p->a);
    free(p->b);
    return r;
}

int mask_add_forms(struct mask *mask, const char *find, const char *put, size_t len,
                   unsigned int which)
{
    struct pair p = { .mask = mask, .find = find, .put = put, .len = len, .which = which };

    return with_room(&p, add_all);
}

int mask_add_escapes(struct mask *mask, const char *find, const char *put, size_t len,
                     unsigned int which)
{
    struct pair p = { .mask = mask, .find = find, .put = put, .len = len, .which = which };

    return with_room(&p, add_escapes);
}
