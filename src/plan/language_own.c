/* Adds a user's file to the built-in languages.  Apart: the generator must not link it. */
#include "plan/language_file.h"

int language_file_add(const char *path, sbr_error *err)
{
    struct language *language;

    if (language_file_load(path, &language, err) < 0)
        return err->code;
    if (language_add(language) < 0) {
        language_file_free(language);
        return err_set(err, SBR_E_INVALID, "language", "'%.200s' is one language file too many",
                       path);
    }
    return 0;
}
