#include "toolchain/toolchain_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/user_dir.h"
#include "toolchain/tool_root.h"
#include "toolchain/toolchain_version.h"

bool toolchain_path_absolute(const char *pattern, char *buf, size_t size)
{
    const char *home = user_dir_home();
    int n;

    if (pattern[0] == '/')
        n = snprintf(buf, size, "%s", pattern);
    else if (pattern[0] == '~' && pattern[1] == '/' && home)
        n = snprintf(buf, size, "%.*s%s", (int)(home[1] ? strlen(home) : 0), home, pattern + 1);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

#define DIGIT "[0-9]"

static bool name_matches(const char *name, const char *pattern, size_t len)
{
    while (len > 0 && *pattern != '*') {
        bool digit = len >= strlen(DIGIT) && strncmp(pattern, DIGIT, strlen(DIGIT)) == 0;
        size_t used = digit ? strlen(DIGIT) : 1;

        if (digit ? *name < '0' || *name > '9' : *name != *pattern)
            return false;
        name++;
        pattern += used;
        len -= used;
    }
    if (len == 0)
        return *name == '\0';
    do {
        if (name_matches(name, pattern + 1, len - 1))
            return true;
    } while (*name++);
    return false;
}

static void add_path(const struct tool_root *root, const char *path, struct toolchain_paths *paths)
{
    struct stat st;
    char **grown;

    if (!tool_root_stat(root, path, &st))
        return;
    grown = realloc(paths->at, (paths->n + 1) * sizeof(*grown));
    if (!grown)
        return;
    paths->at = grown;
    grown[paths->n] = strdup(path);
    paths->n += grown[paths->n] != NULL;
}

/* Everything before `from` is an existing path; the rest may have signs. */
static void expand_from(const struct tool_root *root, const char *pattern, size_t from,
                        struct toolchain_paths *ret)
{
    const char *part = strpbrk(pattern + from, PATTERN_SIGNS), *rest;
    char path[TOOLCHAIN_PATH];
    scoped_dir DIR *dir = NULL;
    struct dirent *entry;

    if (!part) {
        add_path(root, pattern, ret);
        return;
    }
    while (part[-1] != '/')
        part--;
    rest = part + strcspn(part, "/");
    snprintf(path, sizeof(path), "%.*s", (int)(part - pattern), pattern);
    dir = tool_root_open_dir(root, path);
    while (dir && ret->n < TOOLCHAIN_MATCHES && (entry = readdir(dir))) {
        int n;

        if (entry->d_name[0] == '.' || !name_matches(entry->d_name, part, (size_t)(rest - part)))
            continue;
        n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(part - pattern), pattern, entry->d_name,
                     rest);
        if (n > 0 && (size_t)n < sizeof(path))
            expand_from(root, path, (size_t)(part - pattern) + strlen(entry->d_name), ret);
    }
}

static int compare_names(const char *a, const char *b)
{
    char left[TOOLCHAIN_VERSION], right[TOOLCHAIN_VERSION];
    bool has_left = toolchain_version_of_name(a, NULL, left),
         has_right = toolchain_version_of_name(b, NULL, right);
    int r;

    if (has_left != has_right)
        return has_left ? -1 : 1;
    if (!has_left)
        return strverscmp(b, a); /* happens to put stable before nightly before beta */
    r = toolchain_version_compare(right, left);
    return r != 0 ? r : strcmp(a, b); /* 1.26 before 1.26rc1 */
}

/* The first names in which two paths of one pattern differ decide. */
static int compare_paths(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    char names[2][TOOLCHAIN_PATH];

    while (*left && *right) {
        size_t left_len = strcspn(left, "/"), right_len = strcspn(right, "/");

        if (left_len != right_len || memcmp(left, right, left_len) != 0) {
            snprintf(names[0], sizeof(names[0]), "%.*s", (int)left_len, left);
            snprintf(names[1], sizeof(names[1]), "%.*s", (int)right_len, right);
            return compare_names(names[0], names[1]);
        }
        left += left_len + (left[left_len] == '/');
        right += right_len + (right[right_len] == '/');
    }
    return 0;
}

void toolchain_paths_expand(const struct tool_root *root, const char *pattern,
                            struct toolchain_paths *ret)
{
    char path[TOOLCHAIN_PATH];
    size_t home_len;

    *ret = (struct toolchain_paths){ 0 };
    if (!toolchain_path_absolute(pattern, path, sizeof(path)))
        return;
    home_len = strlen(path) - strlen(pattern) + 1; /* a `*` in the home's own path is no sign */
    expand_from(root, path, pattern[0] == '~' ? home_len : 0, ret);
    if (ret->n > 1)
        qsort(ret->at, ret->n, sizeof(*ret->at), compare_paths);
}

void toolchain_paths_done(struct toolchain_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->at[i]);
    free(paths->at);
    *paths = (struct toolchain_paths){ 0 };
}
