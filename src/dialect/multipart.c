#include "dialect/multipart.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70 /* RFC 2046 */

/* "--" and the boundary of the type; false: it has none. */
static bool read_boundary(const char *type, char delimiter[BOUNDARY_MAX + 3])
{
    const char *at = type ? strcasestr(type, "boundary=") : NULL;
    size_t len;

    if (!at || strncasecmp(type, "multipart/form-data", strlen("multipart/form-data")) != 0)
        return false;
    at += strlen("boundary=");
    len = *at == '"' ? strcspn(++at, "\"") : strcspn(at, "; \t");
    if (len == 0 || len > BOUNDARY_MAX)
        return false;
    snprintf(delimiter, BOUNDARY_MAX + 3, "--%.*s", (int)len, at);
    return true;
}

/* A parameter of Content-Disposition; what does not fit is none. */
static void read_parameter(const char *line, size_t len, const char *key, char *value, size_t size)
{
    const char *at = memmem(line, len, key, strlen(key)), *end = line + len, *quote;

    value[0] = '\0';
    if (!at)
        return;
    at += strlen(key);
    quote = memchr(at, '"', (size_t)(end - at));
    if (quote && (size_t)(quote - at) < size)
        snprintf(value, size, "%.*s", (int)(quote - at), at);
}

static bool read_head(const char *head, size_t len, struct multipart_part *part)
{
    static const char disposition[] = "content-disposition:";

    for (const char *line = head, *end; line < head + len; line = end + 2) {
        end = memmem(line, (size_t)(head + len - line), "\r\n", 2);
        if (!end)
            end = head + len;
        if (strncasecmp(line, disposition, strlen(disposition)) != 0)
            continue;
        read_parameter(line, (size_t)(end - line), " name=\"", part->name, sizeof(part->name));
        read_parameter(line, (size_t)(end - line), "filename=\"", part->file_name,
                       sizeof(part->file_name));
        return part->name[0] != '\0';
    }
    return false;
}

int multipart_read(const char *type, const char *body, size_t len, struct multipart_part *parts,
                   size_t max)
{
    char delimiter[BOUNDARY_MAX + 3];
    const char *at, *end;
    int n = 0;

    if (!read_boundary(type, delimiter) || !body)
        return -1;
    end = body + len;
    at = memmem(body, len, delimiter, strlen(delimiter));
    while (at) {
        const char *head = at + strlen(delimiter), *data, *next;

        if (end - head >= 2 && !memcmp(head, "--", 2))
            return n;
        data = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
        next = data ? memmem(data, (size_t)(end - data), delimiter, strlen(delimiter)) : NULL;
        if (!next || data - head < 2 || next - data < 6 || memcmp(next - 2, "\r\n", 2) != 0 ||
            (size_t)n == max || !read_head(head + 2, (size_t)(data - head - 2), &parts[n]))
            return -1;
        parts[n].data = data + 4;
        parts[n].len = (size_t)(next - 2 - parts[n].data);
        n++;
        at = next;
    }
    return -1;
}
