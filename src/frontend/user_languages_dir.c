#include <stdio.h>
#include <stdlib.h>

#include "frontend/user_languages.h"

bool user_languages_dir(char *path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && config[0] == '/')
        snprintf(path, size, "%s/sandbox-run/languages", config);
    else if (home && home[0] == '/')
        snprintf(path, size, "%s/.config/sandbox-run/languages", home);
    else
        return false;
    return true;
}
