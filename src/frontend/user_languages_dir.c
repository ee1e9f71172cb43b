#include <stdio.h>

#include "executor/own_places.h"
#include "frontend/user_languages.h"

bool user_languages_dir(char *path, size_t size)
{
    char config[2048];

    if (!own_places_config(config, sizeof(config)))
        return false;
    snprintf(path, size, "%s/languages", config);
    return true;
}
