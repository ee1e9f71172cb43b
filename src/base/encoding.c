#include "base/encoding.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *encoding_put_base64(char *out, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (; len >= 3; len -= 3, p += 3) {
        *out++ = base64_digits[p[0] >> 2];
        *out++ = base64_digits[(p[0] & 3) << 4 | p[1] >> 4];
        *out++ = base64_digits[(p[1] & 15) << 2 | p[2] >> 6];
        *out++ = base64_digits[p[2] & 63];
    }
    if (len) {
        unsigned char second = len == 2 ? p[1] : 0;

        *out++ = base64_digits[p[0] >> 2];
        *out++ = base64_digits[(p[0] & 3) << 4 | second >> 4];
        *out++ = len == 2 ? base64_digits[(second & 15) << 2] : '=';
        *out++ = '=';
    }
    return out;
}

char *encoding_to_base64(const void *data, size_t len)
{
    char *text = len > SIZE_MAX / 2 ? NULL : malloc(ENCODING_BASE64_LEN(len) + 1);

    if (text)
        *encoding_put_base64(text, data, len) = '\0';
    return text;
}

/* The place of each digit among them, plus one; 0: it is none.  A body may have megabytes. */
/* clang-format off */
static const unsigned char base64_places[256] = {
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
/* clang-format on */

static int digit_value(char c)
{
    return base64_places[(unsigned char)c] - 1;
}

/* Four digits in the midst of the text. */
static bool decode_plain(const char *text, char *out)
{
    uint32_t a = base64_places[(unsigned char)text[0]], b = base64_places[(unsigned char)text[1]];
    uint32_t c = base64_places[(unsigned char)text[2]], d = base64_places[(unsigned char)text[3]];
    uint32_t value = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);

    if (!a || !b || !c || !d)
        return false;
    out[0] = (char)(value >> 16);
    out[1] = (char)(value >> 8);
    out[2] = (char)value;
    return true;
}

/* Value of four digits with `padding` trailing '=', or -1. */
static int32_t decode_group(const char *text, unsigned int padding)
{
    uint32_t value = 0;

    for (unsigned int i = 0; i < 4; i++) {
        int digit = i < 4 - padding ? digit_value(text[i]) : text[i] == '=' ? 0 : -1;

        if (digit < 0)
            return -1;
        value = value << 6 | (uint32_t)digit;
    }
    /* Bits that no byte takes must be zero, or two texts would mean the same bytes. */
    if ((padding == 1 && value & 0xff) || (padding == 2 && value & 0xffff))
        return -1;
    return (int32_t)value;
}

/* The last four, which may be less than three bytes; how many, or -1. */
static int decode_last(const char *text, char *out)
{
    unsigned int padding = (text[3] == '=') + (text[2] == '=');
    int32_t value = decode_group(text, padding);

    for (unsigned int i = 0; value >= 0 && i < 3 - padding; i++)
        out[i] = (char)(value >> (16 - 8 * i));
    return value < 0 ? -1 : (int)(3 - padding);
}

int encoding_from_base64(const char *text, char **ret, size_t *ret_len)
{
    size_t len = strlen(text), i = 0;
    char *data, *out;
    int last = 0;

    if (len % 4 != 0)
        return -1;
    data = out = malloc(len / 4 * 3 + 1);
    if (!data)
        return -1;
    while (i + 4 < len && decode_plain(text + i, out)) {
        i += 4;
        out += 3;
    }
    if (len)
        last = i + 4 == len ? decode_last(text + i, out) : -1;
    if (last < 0) {
        free(data);
        return -1;
    }
    out += last;
    *out = '\0';
    *ret = data;
    *ret_len = (size_t)(out - data);
    return 0;
}

int encoding_random_id(char id[ENCODING_ID_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[(ENCODING_ID_SIZE - 1) / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        id[2 * i] = hex[bytes[i] >> 4];
        id[2 * i + 1] = hex[bytes[i] & 15];
    }
    id[ENCODING_ID_SIZE - 1] = '\0';
    return 0;
}

bool encoding_is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}
