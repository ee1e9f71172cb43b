/* Which of several files is the program. */
#include <fnmatch.h>
#include <string.h>

#include "cli/source.h"
#include "cli/source_named.h"

/* The files of a program, by name, and what is in them. */
struct choice {
    const char *const *names;
    size_t n;
    const struct source_files *files;
};

/* The index of a main file in the language; `n`: there is none. */
typedef size_t find_main(const struct choice *choice, const struct language *language);

/* The first in the order of names, whatever order the directory has. */
static size_t first_of(const char *const *names, size_t n, size_t a, size_t b)
{
    return a == n || strcmp(names[b], names[a]) < 0 ? b : a;
}

/* By the language's usual names of a main file, in their order. */
static size_t find_usual(const struct choice *choice, const struct language *language)
{
    const char *const *names = choice->names;
    size_t n = choice->n;

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

/* What the package itself names, else a usual name. */
static size_t find_named(const struct choice *choice, const struct language *language)
{
    char path[SOURCE_NAMED_SIZE];

    if (source_named_main(language, choice->files, path, sizeof(path)))
        for (size_t i = 0; i < choice->n; i++)
            if (!strcmp(choice->names[i], path))
                return i;
    return find_usual(choice, language);
}

/* The only file in the language.  A compiler finds the start by itself: for it the first will
 * do. */
static size_t find_only(const struct choice *choice, const struct language *language)
{
    const char *const *names = choice->names;
    size_t n = choice->n, found = n;

    for (size_t i = 0; i < n; i++) {
        if (language_for_extension(names[i]) != language)
            continue;
        if (found < n && !language->compile.run.n)
            return n;
        found = first_of(names, n, found, i);
    }
    return found;
}

size_t source_choose_main(const char *const *names, size_t n, const struct source_files *files,
                          const struct language *wanted, const struct language **ret)
{
    static find_main *const ways[] = { find_named, find_only };
    struct choice choice = { names, n, files };

    for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
        const struct language *language = wanted ? wanted : language_at(0);

        for (size_t i = 1; language; language = wanted ? NULL : language_at(i++)) {
            size_t at = ways[way](&choice, language);

            if (at == n || (!wanted && language_for_extension(names[at]) != language))
                continue;
            *ret = language;
            return at;
        }
    }
    return n;
}
