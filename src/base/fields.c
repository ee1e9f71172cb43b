#include "base/fields.h"

#include <string.h>

#define FIELD_MIN 3 /* a kind and two empty texts */

int fields_add(struct buf *out, char kind, const char *name, const char *value)
{
    buf_add(out, &kind, 1);
    buf_add(out, name, strlen(name) + 1);
    return buf_add(out, value, strlen(value) + 1);
}

bool fields_next(const char **at, const char *end, struct field *ret)
{
    const char *stop;

    if (end - *at < FIELD_MIN)
        return false;
    ret->kind = **at;
    ret->name = *at + 1;
    stop = memchr(ret->name, '\0', (size_t)(end - ret->name));
    if (!stop)
        return false;
    ret->value = stop + 1;
    stop = memchr(ret->value, '\0', (size_t)(end - ret->value));
    if (!stop)
        return false;
    *at = stop + 1;
    return true;
}
