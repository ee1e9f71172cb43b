#include <stdio.h>

#include "cli/user_languages.h"
#include "job/own_places.h"

bool user_languages_dir(char *path, size_t size)
{
    char config[2048];

    if (!own_places_config(config, sizeof(config)))
        return false;
    snprintf(path, size, "%s/languages", config);
    return true;
}
