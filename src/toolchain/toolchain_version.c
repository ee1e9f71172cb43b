#include "toolchain/toolchain_version.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t toolchain_version_prefix(const char *text)
{
    size_t len = 0;

    while (is_digit(text[len]) || (len > 0 && text[len] == '.' && is_digit(text[len + 1])))
        len++;
    return len;
}

bool toolchain_version_is_valid(const char *text)
{
    size_t len = toolchain_version_prefix(text);

    return len > 0 && len < TOOLCHAIN_VERSION && text[len] == '\0';
}

/* Reads the next number and skips the point after it; ignores further digits of a huge one. */
static uint64_t take_part(const char **text)
{
    uint64_t value = 0;

    for (; is_digit(**text); (*text)++)
        value = value > UINT64_MAX / 16 ? value : value * 10 + (uint64_t)(**text - '0');
    *text += **text == '.';
    return value;
}

int toolchain_version_compare(const char *a, const char *b)
{
    while (*a && *b) {
        uint64_t left = take_part(&a), right = take_part(&b);

        if (left != right)
            return left < right ? -1 : 1;
    }
    return (*a != '\0') - (*b != '\0');
}

int toolchain_version_matches(const char *version, const char *wanted)
{
    while (*version && *wanted) {
        if (take_part(&version) != take_part(&wanted))
            return 0;
    }
    return *wanted ? -1 : 1;
}

/* True when the number from `start` to `end` is a word of the name, not the 86 of x86_64, the 64 of
 * amd64 or part of a date. */
static bool stands_alone(const char *name, const char *start, const char *end, const char *stem)
{
    size_t before = (size_t)(start - name), stem_len = stem ? strlen(stem) : 0;

    if (*end != '\0' && (*end != '-' || is_digit(end[1])))
        return false;
    if (before > 0 && start[-1] == 'v')
        before--;
    if (before == 0)
        return true;
    if (name[before - 1] == '-')
        return before < 2 || !is_digit(name[before - 2]);
    return stem_len > 0 && before >= stem_len &&
           memcmp(name + before - stem_len, stem, stem_len) == 0;
}

/* Keeps the longer of two versions that agree as far as the shorter one goes.  False when they do
 * not agree, or when the text is too long. */
static bool merge(char best[TOOLCHAIN_VERSION], const char *text, size_t len)
{
    char other[TOOLCHAIN_VERSION];

    if (len >= sizeof(other))
        return false;
    memcpy(other, text, len);
    other[len] = '\0';
    if (toolchain_version_matches(best, other) == 0)
        return false;
    if (toolchain_version_compare(other, best) > 0)
        memcpy(best, other, len + 1);
    return true;
}

bool toolchain_version_of_name(const char *name, const char *stem, char ret[TOOLCHAIN_VERSION])
{
    char plain[TOOLCHAIN_VERSION] = "", dotted[TOOLCHAIN_VERSION] = "";
    bool plain_good = true;
    size_t len;

    for (const char *at = name; *at; at += len ? len : 1) {
        len = toolchain_version_prefix(at);
        if (len == 0 || (at > name && strchr("+_.", at[-1])))
            continue;
        if (memchr(at, '.', len)) {
            if (!merge(dotted, at, len))
                return false;
        } else if (stands_alone(name, at, at + len, stem)) {
            plain_good = merge(plain, at, len) && plain_good;
        }
    }
    if (!dotted[0] && (!plain[0] || !plain_good))
        return false;
    memcpy(ret, dotted[0] ? dotted : plain, TOOLCHAIN_VERSION);
    return true;
}

void toolchain_version_stem(const char *name, char *buf, size_t size)
{
    size_t len = strcspn(name, "*[");

    while (len > 0 && (is_digit(name[len - 1]) || strchr(".-", name[len - 1])))
        len--;
    snprintf(buf, size, "%.*s", (int)len, name);
}
