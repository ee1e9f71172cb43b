#include "model/address.h"

#include <string.h>

#define MAX_LABEL 63

/* Not from ctype.h: what a host name is must not depend on the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* '_' is not allowed in host names, but names of services and internal hosts have it. */
static bool is_label(const char *label, size_t len)
{
    if (len == 0 || len > MAX_LABEL || label[0] == '-' || label[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_letter(label[i]) && !is_digit(label[i]) && label[i] != '-' && label[i] != '_')
            return false;
    }
    return true;
}

/* inet_aton() and getaddrinfo() read 127.1, 0177.0.0.1, 2130706433 and 0x7f.1 as addresses.  No
 * top-level domain looks like that. */
static bool is_number(const char *label, size_t len)
{
    bool hex = len >= 2 && label[0] == '0' && label[1] == 'x';

    for (size_t i = hex ? 2 : 0; i < len; i++) {
        if (hex ? !is_hex(label[i]) : !is_digit(label[i]))
            return false;
    }
    return true;
}

bool hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_SIZE])
{
    char name[HOSTNAME_SIZE];
    size_t start = 0;

    if (len > 0 && text[len - 1] == '.')
        len--;
    if (len == 0 || len >= sizeof(name))
        return false;
    for (size_t i = 0; i < len; i++)
        name[i] = lower(text[i]);
    name[len] = '\0';
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '.')
            continue;
        if (!is_label(name + start, i - start) || (i == len && is_number(name + start, i - start)))
            return false;
        start = i + 1;
    }
    memcpy(ret, name, len + 1);
    return true;
}
