/* Where the two configuration files are: the user's and the project's.  The lean program only asks
 * whether there is one, and then lets the full program, which can read YAML, run. */
#ifndef CONFIG_CONFIG_FIND_H
#define CONFIG_CONFIG_FIND_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_PATH_SIZE 4096
#define CONFIG_PROJECT_NAME ".sandbox-run.yaml"

/* $XDG_CONFIG_HOME/sandbox-run/config.yaml; false when the environment does not say where. */
bool config_user_path(char path[CONFIG_PATH_SIZE]);

/* The nearest CONFIG_PROJECT_NAME in `start` (NULL: the current directory) or above it, up to the
 * root of its repository or the user's home; outside of both only in `start` itself.  A directory
 * that another user owns or that everyone can write to is not looked into, nor what is above it. */
bool config_project_path(const char *start, char path[CONFIG_PATH_SIZE]);

/* Another user owns the directory, or everyone can write to it: what was not named is not taken
 * from it. */
bool config_find_is_foreign(const char *dir);

/* The nearest directory at `start` or above it that has `.git`; false: there is none, or another
 * user's, or another user's directory lies on the way. */
bool config_find_repository(const char *start, char top[CONFIG_PATH_SIZE]);

/* True when there is one of the two. */
bool config_exists(const char *start);

#endif
