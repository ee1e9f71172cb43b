/* Which of several files is the program. */
#include <fnmatch.h>
#include <string.h>

#include "cli/source.h"
#include "plan/language.h"

typedef size_t find_main(const char *const *names, size_t n, const struct language *language);

/* The first in the order of names, whatever order the directory has. */
static size_t first_of(const char *const *names, size_t n, size_t a, size_t b)
{
    return a == n || strcmp(names[b], names[a]) < 0 ? b : a;
}

/* By the language's usual names of a main file, in their order. */
static size_t find_usual(const char *const *names, size_t n, const struct language *language)
{
    for (unsigned int k = 0; k < language->mains.n; k++) {
        size_t found = n;

        for (size_t i = 0; i < n; i++)
            if (fnmatch(language->mains.at[k], names[i], FNM_PATHNAME) == 0)
                found = first_of(names, n, found, i);
        if (found < n)
            return found;
    }
    return n;
}

/* The only file in the language.  A compiler finds the start by itself: for it the first will
 * do. */
static size_t find_only(const char *const *names, size_t n, const struct language *language)
{
    size_t found = n;

    for (size_t i = 0; i < n; i++) {
        if (language_for_extension(names[i]) != language)
            continue;
        if (found < n && !language->compile.run.n)
            return n;
        found = first_of(names, n, found, i);
    }
    return found;
}

size_t source_choose_main(const char *const *names, size_t n, const struct language *wanted,
                          const struct language **ret)
{
    static find_main *const ways[] = { find_usual, find_only };

    for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
        const struct language *language = wanted ? wanted : language_at(0);

        for (size_t i = 1; language; language = wanted ? NULL : language_at(i++)) {
            size_t at = ways[way](names, n, language);

            if (at == n || (!wanted && language_for_extension(names[at]) != language))
                continue;
            *ret = language;
            return at;
        }
    }
    return n;
}
