/* Command lines and variables of a language's file, with ${NAME} for values that are only known for
 * one run.  A word with a name that has no value is omitted, so `-I${deps}` needs no condition. */
#ifndef PLAN_WORDS_H
#define PLAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/language.h"

/* clang-format off */
enum word_name {
    WORD_BINARY, WORD_HOME, WORD_SOURCE, WORD_WORK, WORD_BUILD, WORD_DEPS, WORD_PREPARED,
    WORD_DRIVER, WORD_MEMORY_MB, WORD_TOOLCHAIN, WORD_PROJECT, WORD_LIVE, WORD_PROFILE,
    WORD_SOURCES, WORD_COMPILE_ARGS, /* lists: only as whole words */
    N_WORD_NAMES
};
/* clang-format on */

#define WORDS_KNOWN "free of ${...} other than the names in docs/languages.md"

/* True when every ${...} in the text is one of the names above and lists are whole words. */
bool words_are_known(const char *text);

struct word_values {
    const char *text[N_WORD_NAMES]; /* NULL: no value */
    struct words sources, compile_args;
};

/* Where the expanded words go. */
struct word_output {
    const char **at; /* has room for words_room() entries */
    size_t n;
    void *(*alloc)(void *context, size_t size);
    void *context;
};

/* An upper bound of the number of expanded words. */
size_t words_room(const struct words *words, const struct word_values *values);
/* True when a word uses the name. */
bool words_use(const struct words *words, enum word_name name);
/* True when one of the words is this text. */
bool words_have(const struct words *words, const char *text);
/* 0, or -1 without memory. */
int words_expand(const struct words *words, const struct word_values *values,
                 struct word_output *out);

#endif
