#include "plan/words.h"

#include <string.h>

/* clang-format off */
static const char *const word_names[N_WORD_NAMES] = {
    [WORD_BINARY] = "binary", [WORD_HOME] = "home", [WORD_SOURCE] = "source", [WORD_WORK] = "work",
    [WORD_BUILD] = "build", [WORD_DEPS] = "deps", [WORD_PREPARED] = "prepared",
    [WORD_DRIVER] = "driver", [WORD_MEMORY_MB] = "memory_mb", [WORD_SOURCES] = "sources",
    [WORD_COMPILE_ARGS] = "compile_args", [WORD_TOOLCHAIN] = "toolchain",
    [WORD_PROJECT] = "project", [WORD_LIVE] = "live", [WORD_PROFILE] = "profile",
};
/* clang-format on */

/* The name at `at`, which begins with "${"; *ret_len includes the braces. */
static enum word_name name_at(const char *at, size_t *ret_len)
{
    const char *end = strchr(at, '}');
    size_t len = end ? (size_t)(end - at) - 2 : 0;
    unsigned int i = 0;

    while (i < N_WORD_NAMES &&
           (strlen(word_names[i]) != len || memcmp(word_names[i], at + 2, len) != 0))
        i++;
    *ret_len = len + 3;
    return (enum word_name)i;
}

static bool is_list(enum word_name name)
{
    return name == WORD_SOURCES || name == WORD_COMPILE_ARGS;
}

bool words_are_known(const char *text)
{
    for (const char *at = strstr(text, "${"); at; at = strstr(at + 2, "${")) {
        size_t len;
        enum word_name name = name_at(at, &len);

        if (name == N_WORD_NAMES || (is_list(name) && (at != text || at[len] != '\0')))
            return false;
    }
    return true;
}

static const struct words *list_for(const char *word, const struct word_values *values)
{
    size_t len;

    if (strncmp(word, "${", 2) != 0)
        return NULL;
    switch (name_at(word, &len)) {
    case WORD_SOURCES:
        return &values->sources;
    case WORD_COMPILE_ARGS:
        return &values->compile_args;
    default:
        return NULL;
    }
}

bool words_use(const struct words *words, enum word_name name)
{
    for (unsigned int i = 0; i < words->n; i++) {
        size_t len;

        for (const char *at = strstr(words->at[i], "${"); at; at = strstr(at + 2, "${"))
            if (name_at(at, &len) == name)
                return true;
    }
    return false;
}

bool words_have(const struct words *words, const char *text)
{
    for (unsigned int i = 0; i < words->n; i++)
        if (!strcmp(words->at[i], text))
            return true;
    return false;
}

size_t words_room(const struct words *words, const struct word_values *values)
{
    size_t room = 1;

    for (unsigned int i = 0; i < words->n; i++) {
        const struct words *list = list_for(words->at[i], values);

        room += list ? list->n : 1;
    }
    return room;
}

/* The length of the expanded word; -1 when it must be omitted. */
static long expanded_len(const char *word, const struct word_values *values)
{
    size_t len = strlen(word);

    for (const char *at = strstr(word, "${"); at; at = strstr(at + 2, "${")) {
        size_t name_len;
        enum word_name name = name_at(at, &name_len);

        if (name == N_WORD_NAMES)
            continue;
        if (!values->text[name])
            return -1;
        len += strlen(values->text[name]) - name_len;
    }
    return (long)len;
}

static void expand_into(char *to, const char *word, const struct word_values *values)
{
    while (*word) {
        size_t name_len = 0;
        enum word_name name = strncmp(word, "${", 2) == 0 ? name_at(word, &name_len) : N_WORD_NAMES;

        if (name == N_WORD_NAMES) {
            *to++ = *word++;
            continue;
        }
        to = stpcpy(to, values->text[name]);
        word += name_len;
    }
    *to = '\0';
}

static int add_word(const char *word, const struct word_values *values, struct word_output *out)
{
    long len = expanded_len(word, values);
    char *text;

    if (len < 0)
        return 0;
    if (!strstr(word, "${")) {
        out->at[out->n++] = word;
        return 0;
    }
    text = out->alloc(out->context, (size_t)len + 1);
    if (!text)
        return -1;
    expand_into(text, word, values);
    out->at[out->n++] = text;
    return 0;
}

int words_expand(const struct words *words, const struct word_values *values,
                 struct word_output *out)
{
    for (unsigned int i = 0; i < words->n; i++) {
        const struct words *list = list_for(words->at[i], values);

        for (unsigned int j = 0; list && j < list->n; j++)
            out->at[out->n++] = list->at[j];
        if (!list && add_word(words->at[i], values, out) < 0)
            return -1;
    }
    return 0;
}
