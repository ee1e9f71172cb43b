#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "generate/c_text.h"
#include "plan/language_file.h"

#define LANGUAGES_MAX 256
#define WORDS_MAX 8192

/* A word that must identify one language. */
struct word {
    const char *kind; /* names and aliases are one kind */
    const char *text;
    const char *path;
};

struct entry {
    struct language *file;
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

static int languages_claim_all(struct languages *all, const struct language *l, const char *path,
                               sbr_error *err)
{
    static const char name[] = "name", extension[] = "extension", interpreter[] = "interpreter";
    const struct {
        const char *kind;
        struct words words;
    } lists[] = {
        { name, { (const char **)&l->name, 1 } },
        { name, l->aliases },
        { extension, l->extensions },
        { interpreter, l->shebangs },
    };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (unsigned int j = 0; j < lists[i].words.n; j++) {
            struct word word = { lists[i].kind, lists[i].words.at[j], path };
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
        struct language *file;
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

/* Fields whose members have other names, and the element types of lists of mappings. */
static const struct {
    const char *field, *member, *type;
} odd_fields[] = {
    { "stdin", "stdin_text", NULL },
    { "stdout", "stdout_text", NULL },
    { "exit", "exit_code", NULL },
    { "manifests", "manifests", "struct manifest" },
    { "registries", "registries", "struct registry" },
    { "frames", "frames", "struct frame_rule" },
    { "errors", "errors", "struct error_rule" },
};

static const char *member_of(const char *field, const char **ret_type)
{
    *ret_type = NULL;
    for (size_t i = 0; i < ARRAY_LEN(odd_fields); i++) {
        if (strcmp(odd_fields[i].field, field) == 0) {
            *ret_type = odd_fields[i].type;
            return odd_fields[i].member;
        }
    }
    return field;
}

static void write_words(FILE *out, const struct words *words)
{
    fputs("{ (const char *[]){ ", out);
    for (unsigned int i = 0; i < words->n; i++) {
        c_text_string(out, words->at[i]);
        fputs(", ", out);
    }
    fprintf(out, "NULL }, %u },\n", words->n);
}

static void write_fields(FILE *out, const cyaml_schema_field_t *fields, const char *data);

/* Writes a list of mappings and its length. */
static void write_rules(FILE *out, const char *member, const char *type,
                        const cyaml_schema_field_t *field, const char *data)
{
    const char *entries = *(const char *const *)(data + field->data_offset);
    unsigned int n = *(const unsigned int *)(data + field->count_offset);
    const cyaml_schema_value_t *entry = field->value.sequence.entry;

    fprintf(out, ".n_%s = %u,\n", member, n);
    if (n == 0)
        return;
    fprintf(out, ".%s = (%s[]){\n", member, type);
    for (unsigned int i = 0; i < n; i++) {
        fputs("{\n", out);
        write_fields(out, entry->mapping.fields, entries + (size_t)i * entry->data_size);
        fputs("},\n", out);
    }
    fputs("},\n", out);
}

static void write_field(FILE *out, const cyaml_schema_field_t *field, const char *data)
{
    const char *at = data + field->data_offset, *type;
    const char *member = member_of(field->key, &type);

    if (field->value.type == CYAML_SEQUENCE && type) {
        write_rules(out, member, type, field, data);
        return;
    }
    fprintf(out, ".%s = ", member);
    switch (field->value.type) {
    case CYAML_STRING:
        c_text_string(out, *(const char *const *)at);
        fputs(",\n", out);
        break;
    case CYAML_SEQUENCE:
        write_words(out, (const struct words *)at);
        break;
    case CYAML_MAPPING:
        fputs("{\n", out);
        write_fields(out, field->value.mapping.fields, at);
        fputs("},\n", out);
        break;
    case CYAML_BOOL:
        fprintf(out, "%s,\n", *(const bool *)at ? "true" : "false");
        break;
    default:
        fprintf(out, "%d,\n", *(const int *)at);
    }
}

static void write_fields(FILE *out, const cyaml_schema_field_t *fields, const char *data)
{
    for (; fields->key; fields++)
        write_field(out, fields, data);
}

static void write_language(FILE *out, size_t index, const struct language *l)
{
    /* The number keeps identifiers unique for all names. */
    fprintf(out, "\nstatic const struct language language_%zu = {\n", index);
    write_fields(out, language_schema.mapping.fields, (const char *)l);
    fputs(".driver_texts = ", out);
    write_words(out, &l->driver_texts);
    fputs("};\n", out);
}

static void languages_write(const struct languages *all, FILE *out)
{
    fputs("/* Made by sandbox-run-generate from languages/: edit those files instead. */\n"
          "#include \"plan/language.h\"\n",
          out);
    for (size_t i = 0; i < all->len; i++)
        write_language(out, i, all->entries[i].file);
    fputs("\nconst struct language *const language_table[] = {\n", out);
    for (size_t i = 0; i < all->len; i++)
        fprintf(out, "    &language_%zu,\n", i);
    fputs("    NULL,\n};\n", out);
}

int generate_languages(FILE *out, const char *arch, char *const *paths, sbr_error *err)
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
