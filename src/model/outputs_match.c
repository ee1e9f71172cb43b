/* Matches patterns of output rules.  In a file of its own because init links it, too: it allocates
 * no memory, does not recurse, and takes at most (parts of the pattern) * (length of the pattern) *
 * (length of the path) steps. */
#include <stdint.h>
#include <string.h>

#include "model/outputs.h"

#define MAX_PARTS (OUTPUTS_MAX_PARTS + 2) /* one bit each, and one for "all parts matched" */

struct span {
    const char *at, *end;
};

/* The next component of a path; false at the end. */
static bool next_part(const char **cursor, struct span *ret)
{
    const char *at = *cursor + strspn(*cursor, "/");

    *ret = (struct span){ at, at + strcspn(at, "/") };
    *cursor = ret->end;
    return *at != '\0';
}

/* One past the bracket that closes a class; NULL when '[' is an ordinary character. */
static const char *class_end(const char *open, const char *end)
{
    const char *p = open + 1;

    if (p < end && (*p == '!' || *p == '^'))
        p++;
    if (p < end && *p == ']') /* a first ']' is a member */
        p++;
    while (p < end && *p != ']')
        p++;
    return p < end ? p + 1 : NULL;
}

/* `open` to `close` (one past the bracket) is a class. */
static bool class_has(const char *open, const char *close, unsigned char c)
{
    const char *p = open + 1, *last = close - 1;
    bool negated = p < last && (*p == '!' || *p == '^'), found = false;

    if (negated)
        p++;
    while (p < last) {
        unsigned char low = (unsigned char)*p, high = low;

        if (last - p > 2 && p[1] == '-') {
            high = (unsigned char)p[2];
            p += 2;
        }
        found = found || (c >= low && c <= high);
        p++;
    }
    return found != negated;
}

/* True when the next element of the pattern matches `c`; *ret_next is what follows the element. */
static bool element_takes(const char *p, const char *end, char c, const char **ret_next)
{
    const char *close = *p == '[' ? class_end(p, end) : NULL;

    *ret_next = close ? close : p + 1;
    if (close)
        return class_has(p, close, (unsigned char)c);
    if (*p == '?')
        return true;
    if (*p == '\\' && p + 1 < end) {
        *ret_next = p + 2;
        p++;
    }
    return *p == c;
}

/* Backtracks only to the last star: a longer match of an earlier one could not help. */
static bool part_matches(struct span pattern, struct span name)
{
    const char *p = pattern.at, *c = name.at, *after_star = NULL, *retry = NULL, *next;

    while (c < name.end) {
        if (p < pattern.end && *p == '*') {
            after_star = ++p;
            retry = c;
        } else if (p < pattern.end && element_takes(p, pattern.end, *c, &next)) {
            p = next;
            c++;
        } else if (after_star) {
            p = after_star;
            c = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.end && *p == '*')
        p++;
    return p == pattern.end;
}

static bool spans_directories(struct span part)
{
    return part.end - part.at == 2 && part.at[0] == '*' && part.at[1] == '*';
}

/* The states after one more component of the path; bit N: N parts of the pattern are matched. */
static uint64_t advance(const struct span *parts, size_t n, uint64_t states, struct span name)
{
    uint64_t after = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(states & (1ULL << i)))
            continue;
        if (spans_directories(parts[i]))
            after |= 1ULL << i;
        else if (part_matches(parts[i], name))
            after |= 2ULL << i;
    }
    return after;
}

/* `**` also matches nothing. */
static uint64_t close_over(const struct span *parts, size_t n, uint64_t states)
{
    for (size_t i = 0; i < n; i++)
        if ((states & (1ULL << i)) && spans_directories(parts[i]))
            states |= 2ULL << i;
    return states;
}

bool output_matches(const char *pattern, const char *path, bool *ret_below)
{
    struct span parts[MAX_PARTS], part;
    uint64_t states;
    size_t n = 0;

    if (ret_below)
        *ret_below = false;
    for (const char *p = pattern; next_part(&p, &part); parts[n++] = part)
        if (n == MAX_PARTS)
            return false;
    states = close_over(parts, n, 1);
    for (const char *p = path; next_part(&p, &part) && !(states & (1ULL << n));)
        states = close_over(parts, n, advance(parts, n, states, part));
    if (states & (1ULL << n))
        return true;
    if (ret_below)
        *ret_below = states != 0;
    return false;
}

size_t output_fixed_len(const char *pattern)
{
    const char *cursor = pattern, *fixed = pattern;
    struct span part;

    while (next_part(&cursor, &part)) {
        if (!*(part.end + strspn(part.end, "/")))
            break; /* the last part names what is collected */
        if (strcspn(part.at, "*?[\\/") < (size_t)(part.end - part.at))
            break;
        fixed = part.end;
    }
    return (size_t)(fixed - pattern);
}
