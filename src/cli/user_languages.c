/* The whole program reads YAML itself. */
#include "cli/user_languages.h"

#include <stdio.h>

#include "plan/language_file.h"
#include "toolchain/toolchain_paths.h"

static int add_directory(sbr_error *err)
{
    struct toolchain_paths found;
    char dir[3000], pattern[3100];
    int r = 0;

    if (!user_languages_dir(dir, sizeof(dir)))
        return 0;
    snprintf(pattern, sizeof(pattern), "%s/*.yaml", dir);
    toolchain_paths_expand(pattern, &found);
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = language_file_add(found.at[i], err);
    toolchain_paths_done(&found);
    return r;
}

int user_languages(struct options *o, sbr_error *err)
{
    int r = add_directory(err);

    for (size_t i = 0; r == 0 && i < o->n_language_files; i++)
        r = language_file_add(o->language_files[i], err);
    return r;
}
