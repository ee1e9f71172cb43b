#include "sandbox/mount_below.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNT_POINT_FIELD 4 /* "36 35 98:0 /root /mount/point ..." */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The kernel writes blanks, line ends and backslashes as three octal digits. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

bool mount_line_is_below(char *line, const char *path)
{
    size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    char *field = line;

    for (int i = 0; i < MOUNT_POINT_FIELD && field; i++)
        if ((field = strchr(field, ' ')))
            field++;
    if (!field)
        return false;
    field[strcspn(field, " ")] = '\0';
    unescape(field);
    return !strncmp(field, path, len) && field[len] == '/' && field[len + 1];
}

bool mount_is_below(const char *path)
{
    scoped_free char *real = realpath(path, NULL), *line = NULL;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    bool found = !real || !mounts;
    size_t size = 0;

    while (!found && getline(&line, &size, mounts) > 0)
        found = mount_line_is_below(line, real);
    if (mounts)
        fclose(mounts);
    return found;
}
