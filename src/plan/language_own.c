/* Adds a user's file to the built-in languages.  Apart: the generator must not link it. */
#include <stdlib.h>
#include <string.h>

#include "plan/language_file.h"

int language_file_add(const char *path, sbr_error *err)
{
    struct language *language;

    if (language_file_load(path, &language, err) < 0)
        return err->code;
    language->file = realpath(path, NULL); /* as long as the process */
    if (language_add(language) < 0) {
        free((char *)language->file);
        language_file_free(language);
        return err_set(err, SBR_E_INVALID, "language", "'%.200s' is one language file too many",
                       path);
    }
    return 0;
}

int language_file_add_binary(const struct language *language, const char *path, sbr_error *err)
{
    struct language *copy = malloc(sizeof(*copy));
    const char **binaries = calloc(2, sizeof(*binaries));
    char *own = strdup(path);

    if (copy && binaries && own) {
        *copy = *language;
        copy->other_binary = true;
        binaries[0] = own;
        copy->binaries = (struct words){ binaries, 1 };
        if (language_add(copy) == 0)
            return 0;
        err_set(err, SBR_E_INVALID, "language", "'%.100s' is one language too many",
                language->name);
    } else {
        err_set_oom(err, "language");
    }
    free(copy);
    free(binaries);
    free(own);
    return err->code;
}
