/* The main file that a package names itself, as "main" of package.json does. */
#ifndef CLI_SOURCE_NAMED_H
#define CLI_SOURCE_NAMED_H

#include "plan/language.h"

#define SOURCE_NAMED_SIZE 4096

/* The files among which a program is looked for. */
struct source_files {
    char *(*read)(void *context, const char *path); /* NULL: none; the caller frees it */
    bool (*has)(void *context, const char *path);
    void *context;
};

/* True when the language's manifest is there and names a file of the language that is, too. */
bool source_named_main(const struct language *language, const struct source_files *files, char *ret,
                       size_t size);

#endif
