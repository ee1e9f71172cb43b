#include "cli/host_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/outputs.h"

/* The shell resolves ~ only at the beginning of a word, which in --volume=~/x:/data it is not. */
static bool is_below_home(const char *path)
{
    return path[0] == '~' && (path[1] == '\0' || path[1] == '/');
}

static int join(const char *dir, const char *path, char **ret, sbr_error *err)
{
    return asprintf(ret, "%s/%s", dir, path) < 0 ? err_set_oom(err, "options") : 0;
}

static int make_absolute(const char *path, char **ret, sbr_error *err)
{
    const char *home = getenv("HOME");
    scoped_free char *here = NULL;

    if (is_below_home(path)) {
        if (!home || home[0] != '/')
            return err_set(err, SBR_E_INVALID, "options",
                           "'%.100s' is below a home directory, but HOME names none", path);
        return join(home, path + 1 + (path[1] == '/'), ret, err);
    }
    here = getcwd(NULL, 0);
    if (!here)
        return err_set_errno(err, "options",
                             "cannot tell where '%.100s' is: no directory to start from", path);
    return join(here, path, ret, err);
}

/* "." and ".." are never links: the whole path can be resolved. */
static bool is_no_name(const char *last)
{
    return !*last || !strcmp(last, ".") || !strcmp(last, "..");
}

int host_path(const char *path, char **ret, sbr_error *err)
{
    scoped_free char *full = NULL;
    const char *typed;
    char *last, real[PATH_MAX];
    size_t len;

    if (path[0] == '/' || !path[0]) {
        *ret = strdup(path);
        return *ret ? 0 : err_set_oom(err, "options");
    }
    if (make_absolute(path, &full, err) < 0)
        return err->code;
    /* Resolved from the directory in which we are: who owns one above it could put a link there. */
    typed = is_below_home(path) ? full : full + strlen(full) - strlen(path);
    for (len = strlen(full); len > 1 && full[len - 1] == '/'; len--)
        full[len - 1] = '\0';
    last = strrchr(full, '/') + 1;
    if (is_no_name(last)) {
        *ret = realpath(typed, real) ? strdup(real) : take_ptr(full);
        return *ret ? 0 : err_set_oom(err, "options");
    }
    last[-1] = '\0';
    if (typed == full && !*full)
        typed = "/";
    return join(realpath(typed == last ? "." : typed, real) ? real : full, last, ret, err);
}

int host_path_unresolved(const char *path, char **ret, sbr_error *err)
{
    char *made;

    while (path[0] == '.' && path[1] == '/' && path[2])
        path += 1 + strspn(path + 1, "/");
    if (path[0] == '/' || is_no_name(path))
        return host_path(path, ret, err);
    if (make_absolute(path, &made, err) < 0)
        return err->code;
    for (size_t len = strlen(made); len > 1 && made[len - 1] == '/'; len--)
        made[len - 1] = '\0';
    *ret = made;
    return 0;
}

int host_path_before(const char *spec, char **ret, sbr_error *err)
{
    const char *colon = strchr(spec, ':');
    scoped_free char *first = NULL, *made = NULL;

    if (colon)
        first = strndup(spec, (size_t)(colon - spec));
    if (colon && !first)
        return err_set_oom(err, "options");
    if (host_path(colon ? first : "", &made, err) < 0)
        return err->code;
    if (asprintf(ret, "%s%s", made, colon ? colon : spec) < 0)
        return err_set_oom(err, "options");
    return 0;
}

int host_path_behind(const char *spec, char **ret, sbr_error *err)
{
    const char *dir = output_spec_dir(spec);
    scoped_free char *made = NULL;

    if (!dir)
        dir = spec + strlen(spec);
    if (host_path_unresolved(dir, &made, err) < 0)
        return err->code;
    if (asprintf(ret, "%.*s%s", (int)(dir - spec), spec, made) < 0)
        return err_set_oom(err, "options");
    return 0;
}
