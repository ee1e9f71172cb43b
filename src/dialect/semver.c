#include "dialect/catalog.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 3

struct number {
    unsigned long part[PARTS];
    unsigned int n; /* how many are given; the others are 0 */
};

/* "3", "3.9", "3.x", "3.9.1"; what follows the third part does not count.  False: none. */
static bool read_number(const char *text, struct number *ret)
{
    *ret = (struct number){ .n = 0 };
    while (ret->n < PARTS) {
        char *end;

        if (!*text || strchr("xX*", *text))
            return true;
        if (!isdigit((unsigned char)*text))
            return false;
        ret->part[ret->n++] = strtoul(text, &end, 10);
        text = end;
        if (*text != '.')
            return ret->n == PARTS || !*text || *text == '-' || *text == '+';
        text++;
    }
    return true;
}

/* As strcmp, by the first `n` parts. */
static int compare(const struct number *a, const struct number *b, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

/* How many parts must be the same for '^': up to the first that is not 0. */
static unsigned int caret_parts(const struct number *wanted)
{
    unsigned int n = 1;

    while (n < wanted->n && wanted->part[n - 1] == 0)
        n++;
    return n < wanted->n ? n : wanted->n;
}

static bool holds(const struct number *have, const struct number *wanted, const char *operator)
{
    int order = compare(have, wanted, wanted->n);

    if (!strcmp(operator, ">="))
        return order >= 0;
    if (!strcmp(operator, "<="))
        return order <= 0;
    if (!strcmp(operator, ">"))
        return order > 0;
    if (!strcmp(operator, "<"))
        return order < 0;
    if (!strcmp(operator, "~"))
        return order >= 0 && compare(have, wanted, wanted->n < 2 ? wanted->n : 2) == 0;
    if (!strcmp(operator, "^"))
        return order >= 0 && compare(have, wanted, caret_parts(wanted)) == 0;
    return order == 0;
}

/* One comparison of a list that spaces separate. */
static bool word_matches(const struct number *have, const char *word, size_t len)
{
    char text[64], operator[3] = "";
    struct number wanted;
    size_t n = strspn(word, "<>=~^");

    if (len >= sizeof(text) || n > 2)
        return false;
    memcpy(operator, word, n);
    memcpy(text, word + n, len - n);
    text[len - n] = '\0';
    return read_number(text[0] == 'v' ? text + 1 : text, &wanted) && holds(have, &wanted, operator);
}

bool semver_matches(const char *version, const char *selector)
{
    struct number have;

    if (!read_number(version, &have))
        have.n = 0;
    selector += strspn(selector, " ");
    if (!*selector || !strcmp(selector, "latest"))
        return true;
    for (size_t len; *selector; selector += strspn(selector, " ")) {
        len = strcspn(selector, " ");
        if (!word_matches(&have, selector, len))
            return false;
        selector += len;
    }
    return true;
}
