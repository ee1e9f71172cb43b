/* Addresses of what runs left.  Pure. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* True when every part of the path is a name. */
static bool has_names_only(const char *path)
{
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        size_t len = strcspn(++part, "/");

        if (!len || (len <= 2 && !strncmp(part, "..", len)))
            return false;
    }
    return true;
}

char *mcp_uri_file(const char *uri)
{
    scoped_free char *path = NULL;
    size_t len;

    if (strncasecmp(uri, "file://", 7) != 0)
        return NULL;
    uri += strncasecmp(uri + 7, "localhost/", 10) ? 7 : 16;
    if (*uri != '/')
        return NULL;
    for (const char *c = uri; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == '?' || *c == '#' ||
            (*c == '%' && (digit(c[1]) < 0 || digit(c[2]) < 0 || !strncmp(c + 1, "00", 2))))
            return NULL;
    path = mcp_uri_decode(uri);
    len = path ? strlen(path) : 0;
    if (len > 1 && path[len - 1] == '/')
        path[len - 1] = '\0';
    return path && len > 1 && has_names_only(path) ? take_ptr(path) : NULL;
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
