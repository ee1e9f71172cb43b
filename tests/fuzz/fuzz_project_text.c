/* Texts of a project that are read outside: lines of a .sandboxignore with a path to ask for, words
 * of a case's `normalize`, and a manifest's members. */
#include "fuzz.h"
#include "model/exclude.h"
#include "plan/language.h"
#include "work/normalize.h"

/* The first line is a path, the rest are the rules. */
static void ask(const char *text)
{
    const char *end = strchr(text, '\n'), *rest = end ? end + 1 : "";
    char *path = strndup(text, end ? (size_t)(end - text) : strlen(text));
    struct string_list none = { 0 };
    struct exclude rules = { .outs = &none, .ins = &none };
    sbr_error err;

    FUZZ_ASSERT(path);
    if (exclude_read(&rules, rest, strlen(rest), &err) == 0) {
        enum exclude_answer file = exclude_ask(&rules, path, false);

        FUZZ_ASSERT(file != EXCLUDE_NO ||
                    !exclude_ask(&(struct exclude){ .outs = &none, .ins = &none }, path, false));
        (void)exclude_ask(&rules, path, true);
        (void)exclude_reaches_below(&rules, path);
        (void)exclude_by_content(file, rest, strlen(rest), true);
    }
    exclude_done(&rules);
    free(path);
}

static void normalize(const char *text)
{
    const char *end = strchr(text, '\n'), *rest = end ? end + 1 : "";
    char *words = strndup(text, end ? (size_t)(end - text) : strlen(text));
    unsigned int which = 0;
    struct buf once, twice;
    sbr_error err;

    FUZZ_ASSERT(words);
    buf_init(&once, 1 << 24);
    buf_init(&twice, 1 << 24);
    if (normalize_parse(words, &which, &err) < 0)
        which = ~0u;
    if (normalize_text(which, rest, strlen(rest), &once) == 0 && once.data &&
        normalize_text(which, once.data, once.len, &twice) == 0)
        FUZZ_ASSERT(twice.len == once.len &&
                    (!once.len || !memcmp(once.data, twice.data, once.len)));
    buf_done(&once);
    buf_done(&twice);
    free(words);
}

static void look_for_members(const char *text)
{
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)); i++)
        for (unsigned int k = 0; k < language->install.n_manifests; k++)
            (void)manifest_has_members(&language->install.manifests[k], text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    ask(text);
    normalize(text);
    look_for_members(text);
    free(text);
    return 0;
}
