/* The whole program reads YAML itself. */
#include "frontend/user_languages.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan/language_file.h"

static int add_directory(sbr_error *err)
{
    char pattern[4096];
    glob_t found;
    int r = 0;

    if (!user_languages_dir(pattern, sizeof(pattern) - sizeof("/*.yaml")) ||
        access(pattern, F_OK) < 0)
        return 0;
    strcat(pattern, "/*.yaml");
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
        r = language_file_add(found.gl_pathv[i], err);
    globfree(&found);
    return r;
}

int user_languages(struct options *o, sbr_error *err)
{
    int r = add_directory(err);

    for (size_t i = 0; r == 0 && i < o->n_language_files; i++)
        r = language_file_add(o->language_files[i], err);
    return r;
}
