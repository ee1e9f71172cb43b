#include <stdlib.h>
#include <string.h>

#include "compile/c_text.h"
#include "compile/commands.h"
#include "compile/language_file.h"

#define LANGUAGES_MAX 256
#define WORDS_MAX 8192

/* A word that must lead to one language only. */
struct word {
    const char *kind; /* names and aliases share one kind */
    const char *text;
    const char *path;
};

struct entry {
    struct language_file *file;
};

struct languages {
    struct entry entries[LANGUAGES_MAX];
    size_t len;
    struct word words[WORDS_MAX];
    size_t words_len;
};

static int languages_claim(struct languages *all, struct word word, sbr_error *err)
{
    for (size_t i = 0; i < all->words_len; i++) {
        const struct word *other = &all->words[i];

        if (other->kind == word.kind && strcmp(other->text, word.text) == 0)
            return err_set(err, SBR_E_INVALID, "compile",
                           "%s:%u: %s '%s' already belongs to %s:%u; remove one of the two",
                           word.path, document_line_of(word.path, word.text), word.kind, word.text,
                           other->path, document_line_of(other->path, other->text));
    }
    if (all->words_len == WORDS_MAX)
        return err_set(err, SBR_E_INVALID, "compile", "%s: more than %d names; remove some",
                       word.path, WORDS_MAX);
    all->words[all->words_len++] = word;
    return 0;
}

static int languages_claim_all(struct languages *all, const struct language_file *l,
                               const char *path, sbr_error *err)
{
    static const char name[] = "name", extension[] = "extension", interpreter[] = "interpreter";
    const struct {
        const char *kind;
        char *const *entries;
        unsigned n;
    } lists[] = {
        { name, &l->name, 1 },
        { name, l->aliases, l->aliases_count },
        { extension, l->extensions, l->extensions_count },
        { interpreter, l->shebangs, l->shebangs_count },
    };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (unsigned j = 0; j < lists[i].n; j++) {
            struct word word = { lists[i].kind, lists[i].entries[j], path };
            int r = languages_claim(all, word, err);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int languages_load(struct languages *all, char *const *paths, sbr_error *err)
{
    for (; *paths; paths++) {
        struct language_file *file;
        int r;

        if (all->len == LANGUAGES_MAX)
            return err_set(err, SBR_E_INVALID, "compile", "%s: only %d languages fit; remove one",
                           *paths, LANGUAGES_MAX);
        r = language_file_load(*paths, &file, err);
        if (r < 0)
            return r;
        all->entries[all->len++].file = file;
        r = languages_claim_all(all, file, *paths, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    return strcmp(left->file->name, right->file->name);
}

static void write_list(FILE *out, const char *field, char *const *entries, unsigned n)
{
    fprintf(out, "    .%s = (const char *const[]){ ", field);
    for (unsigned i = 0; i < n; i++) {
        c_text_string(out, entries[i]);
        fputs(", ", out);
    }
    fputs("NULL },\n", out);
}

static void write_text(FILE *out, const char *field, const char *text)
{
    fprintf(out, "    .%s = ", field);
    c_text_string(out, text);
    fputs(",\n", out);
}

static void write_language(FILE *out, size_t index, const struct language_file *l)
{
    const struct selftest_part *test = &l->selftest;

    /* The number keeps identifiers apart whatever characters the names have. */
    fprintf(out, "\nstatic const struct language language_%zu = {\n", index);
    write_text(out, "name", l->name);
    write_text(out, "about", l->about);
    write_list(out, "aliases", l->aliases, l->aliases_count);
    write_list(out, "extensions", l->extensions, l->extensions_count);
    write_list(out, "shebangs", l->shebangs, l->shebangs_count);
    write_list(out, "mains", l->mains, l->mains_count);
    write_list(out, "binaries", l->binaries, l->binaries_count);
    write_text(out, "package", l->package);
    write_text(out, "source", l->source);
    write_list(out, "run", l->run, l->run_count);
    write_list(out, "env", l->env, l->env_count);
    write_text(out, "selftest.code", test->code);
    write_text(out, "selftest.stdin_text", test->stdin_text);
    write_text(out, "selftest.stdout_text", test->stdout_text);
    fprintf(out, "    .selftest.exit_code = %d,\n};\n", test->exit_code);
}

static void languages_write(const struct languages *all, FILE *out)
{
    fputs("/* Made by sandbox-run-compile from languages/: edit those files instead. */\n"
          "#include \"plan/language.h\"\n",
          out);
    for (size_t i = 0; i < all->len; i++)
        write_language(out, i, all->entries[i].file);
    fputs("\nconst struct language *const language_table[] = {\n", out);
    for (size_t i = 0; i < all->len; i++)
        fprintf(out, "    &language_%zu,\n", i);
    fputs("    NULL,\n};\n", out);
}

int command_languages(FILE *out, const char *arch, char *const *paths, sbr_error *err)
{
    static struct languages all;
    int r = languages_load(&all, paths, err);

    (void)arch;
    if (r == 0) {
        qsort(all.entries, all.len, sizeof(all.entries[0]), by_name);
        languages_write(&all, out);
    }
    for (size_t i = 0; i < all.len; i++)
        language_file_free(all.entries[i].file);
    return r;
}
