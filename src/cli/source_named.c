/* The main file that a package names itself, as "main" of package.json does. */
#include "cli/source_named.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#define ENTRY "index" /* the file that a directory stands for */

/* The path in the first group of the expression, without a leading "./".  It stays below the
 * package. */
static bool find_path(const char *match, const char *text, char *ret, size_t size)
{
    regmatch_t groups[2];
    regex_t compiled;
    bool found;
    int len;

    if (regcomp(&compiled, match, REG_EXTENDED | REG_NEWLINE) != 0)
        return false;
    found = regexec(&compiled, text, ARRAY_LEN(groups), groups, 0) == 0 && groups[1].rm_so >= 0;
    regfree(&compiled);
    if (!found)
        return false;
    text += groups[1].rm_so;
    len = (int)(groups[1].rm_eo - groups[1].rm_so);
    while (len > 2 && !strncmp(text, "./", 2)) {
        text += 2;
        len -= 2;
    }
    return snprintf(ret, size, "%.*s", len, text) < (int)size && !strstr(ret, "..");
}

/* True when there is a form with this number: the path itself, with an extension, the entry of a
 * directory. */
static bool form(const struct language *language, const char *path, unsigned int number, char *ret,
                 size_t size)
{
    unsigned int n = language->extensions.n;
    int len;

    if (number == 0)
        len = snprintf(ret, size, "%s", path);
    else if (number <= n)
        len = snprintf(ret, size, "%s%s", path, language->extensions.at[number - 1]);
    else if (number <= 2 * n)
        len = snprintf(ret, size, "%s/" ENTRY "%s", path, language->extensions.at[number - 1 - n]);
    else
        return false;
    if (len >= (int)size)
        ret[0] = '\0';
    return true;
}

bool source_named_main(const struct language *language, const struct source_files *files, char *ret,
                       size_t size)
{
    const struct main_in *in = &language->main_in;
    scoped_free char *text = NULL;
    char path[SOURCE_NAMED_SIZE];

    if (!in->file)
        return false;
    text = files->read(files->context, in->file);
    if (!text || !find_path(in->match, text, path, sizeof(path)))
        return false;
    for (unsigned int i = 0; form(language, path, i, ret, size); i++)
        if (*ret && language_for_extension(ret) == language && files->has(files->context, ret))
            return true;
    return false;
}
