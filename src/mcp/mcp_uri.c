/* Addresses of what runs left.  Pure. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "mcp/mcp_files.h"

#define PREFIX "sandbox-run://runs/"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

char *mcp_uri_make(const char *run, const char *path)
{
    struct buf out;

    buf_init(&out, 8192);
    (void)buf_printf(&out, PREFIX "%s/", run);
    for (; *path; path++)
        (void)(strchr(plain, *path) ? buf_add(&out, path, 1)
                                    : buf_printf(&out, "%%%02X", (unsigned char)*path));
    return buf_take(&out, NULL);
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

char *mcp_uri_decode(const char *text)
{
    char *path = malloc(strlen(text) + 1);
    size_t at = 0;

    for (const char *c = text; path && *c; c++) {
        bool escaped = *c == '%' && digit(c[1]) >= 0 && digit(c[2]) >= 0;

        path[at++] = escaped ? (char)(digit(c[1]) * 16 + digit(c[2])) : *c;
        c += escaped ? 2 : 0;
    }
    if (path)
        path[at] = '\0';
    return path;
}

bool mcp_uri_read(const char *uri, char **ret_run, char **ret_path)
{
    size_t len = sizeof(PREFIX) - 1;
    const char *slash;

    if (strncmp(uri, PREFIX, len) != 0 || !(slash = strchr(uri + len, '/')))
        return false;
    *ret_run = strndup(uri + len, (size_t)(slash - uri) - len);
    *ret_path = mcp_uri_decode(slash + 1);
    return *ret_run && *ret_path;
}
