/* Words of a language's file, a line each: which are known, and what they become. */
#include "base/err.h"
#include "fuzz.h"
#include "plan/words.h"

#define MAX_LINES 64

static void *alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static const char *sources[] = { "/work/a", "${home}" };
static const char *args[] = { "-x", "${compile_args}", "" };

/* Every other name has a value, by the length of the input. */
static struct word_values some_values(size_t size)
{
    struct word_values values = { .sources = { sources, ARRAY_LEN(sources) },
                                  .compile_args = { args, ARRAY_LEN(args) } };

    for (unsigned int i = 0; i < WORD_SOURCES; i++)
        values.text[i] = (i + size) % 2 ? "/v${work}" : NULL;
    return values;
}

static bool is_given(const char *word)
{
    return word == sources[0] || word == sources[1] || word == args[0] || word == args[1] ||
           word == args[2];
}

static void check_word(const char *word, const struct word_values *values)
{
    struct words one = { &word, 1 };
    const char *at[ARRAY_LEN(args) + 1];
    struct word_output out = { .at = at, .alloc = alloc };

    FUZZ_ASSERT(words_room(&one, values) <= ARRAY_LEN(at));
    FUZZ_ASSERT(words_expand(&one, values, &out) == 0);
    FUZZ_ASSERT(out.n < words_room(&one, values));
    if (!strstr(word, "${"))
        FUZZ_ASSERT(words_are_known(word) && out.n == 1 && out.at[0] == word);
    for (unsigned int i = 0; i < N_WORD_NAMES; i++)
        FUZZ_ASSERT(!words_use(&one, (enum word_name)i) || strstr(word, "${"));
    for (size_t i = 0; i < out.n; i++)
        if (out.at[i] != word && !is_given(out.at[i]))
            free((char *)out.at[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *line;
    struct word_values values = some_values(size);

    for (int i = 0; i < MAX_LINES && (line = strsep(&rest, "\n")); i++)
        check_word(line, &values);
    free(text);
    return 0;
}
