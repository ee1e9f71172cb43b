#include "config/config_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job_trees.h"

bool config_user_path(char path[CONFIG_PATH_SIZE])
{
    char dir[CONFIG_PATH_SIZE - 16];

    if (!own_places_config(dir, sizeof(dir)))
        return false;
    snprintf(path, CONFIG_PATH_SIZE, "%s/config.yaml", dir);
    return true;
}

static bool is_of_others(const struct stat *st)
{
    return (st->st_uid != geteuid() && st->st_uid != 0) || (st->st_mode & S_IWOTH);
}

bool config_find_is_foreign(const char *dir)
{
    struct stat st;

    return stat(dir, &st) < 0 || is_of_others(&st);
}

/* One directory up; false: there is none. */
static bool go_up(char *dir)
{
    char *slash = strrchr(dir, '/');

    if (!slash || (slash == dir && !slash[1]))
        return false;
    slash[slash == dir] = '\0';
    return true;
}

static bool has(const char *dir, const char *name)
{
    char path[CONFIG_PATH_SIZE + 32];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", dir[1] ? dir : "", name);
    return lstat(path, &st) == 0;
}

/* The last directory that is looked into. */
static bool is_top(const char *dir, const char *home)
{
    return has(dir, ".git") || (home && !strcmp(dir, home));
}

bool config_project_path(const char *start, char path[CONFIG_PATH_SIZE])
{
    char dir[PATH_MAX], home[PATH_MAX];
    const char *variable = getenv("HOME");
    bool found = false, is_start = true;

    if (!realpath(start && *start ? start : ".", dir))
        return false;
    if (!variable || !realpath(variable, home))
        home[0] = '\0';
    for (; !config_find_is_foreign(dir); is_start = false) {
        if (!found && has(dir, CONFIG_PROJECT_NAME)) {
            found = snprintf(path, CONFIG_PATH_SIZE, "%s/%s", dir[1] ? dir : "",
                             CONFIG_PROJECT_NAME) < CONFIG_PATH_SIZE;
            if (is_start)
                return found;
        }
        if (is_top(dir, home))
            return found;
        if (!go_up(dir))
            return false;
    }
    return false;
}

bool config_find_repository(const char *start, char top[CONFIG_PATH_SIZE])
{
    char sign[CONFIG_PATH_SIZE + 8];
    struct stat st;

    if (!realpath(start && *start ? start : ".", top))
        return false;
    while (!config_find_is_foreign(top)) {
        snprintf(sign, sizeof(sign), "%s/.git", top[1] ? top : "");
        if (lstat(sign, &st) == 0)
            return (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) && !is_of_others(&st);
        if (!go_up(top))
            return false;
    }
    return false;
}

bool config_exists(const char *start)
{
    char path[CONFIG_PATH_SIZE];

    return (config_user_path(path) && access(path, F_OK) == 0) || config_project_path(start, path);
}
