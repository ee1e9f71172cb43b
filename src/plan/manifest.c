#include "plan/language.h"

#include <regex.h>
#include <string.h>

/* The expressions are checked when the language is read. */
static bool matches(const char *expression, const char *text)
{
    regex_t compiled;
    bool found;

    if (regcomp(&compiled, expression, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0)
        return false;
    found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

bool manifest_is(const struct manifest *manifest, const char *path)
{
    const char *slash = manifest->below ? strrchr(path, '/') : NULL;

    return !strcmp(manifest->file, slash ? slash + 1 : path);
}

bool manifest_asks(const struct manifest *manifest, const char *text)
{
    return !manifest->when || matches(manifest->when, text);
}

bool manifest_has_members(const struct manifest *manifest, const char *text)
{
    return manifest->below && matches(manifest->below, text);
}
