#include "compile/language_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define OWNED CYAML_FLAG_POINTER /* libcyaml allocates it */
#define MAYBE CYAML_FLAG_OPTIONAL
#define TEXT_MAX 65536
#define FIELD_TEXT(field) CYAML_FIELD_STRING_PTR(#field, OWNED, struct language_file, field, 1, 200)
#define FIELD_LIST(field, flags)                                                                   \
    CYAML_FIELD_SEQUENCE(#field, OWNED | (flags), struct language_file, field, &document_text, 1,  \
                         CYAML_UNLIMITED)

static const cyaml_schema_field_t selftest_fields[] = {
    CYAML_FIELD_STRING_PTR("code", OWNED, struct selftest_part, code, 1, TEXT_MAX),
    CYAML_FIELD_STRING_PTR("stdin", OWNED | MAYBE, struct selftest_part, stdin_text, 0, TEXT_MAX),
    CYAML_FIELD_STRING_PTR("stdout", OWNED, struct selftest_part, stdout_text, 0, TEXT_MAX),
    CYAML_FIELD_INT("exit", CYAML_FLAG_DEFAULT, struct selftest_part, exit_code),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t language_fields[] = {
    FIELD_TEXT(name),
    FIELD_TEXT(about),
    FIELD_LIST(aliases, MAYBE),
    FIELD_LIST(extensions, MAYBE),
    FIELD_LIST(shebangs, MAYBE),
    FIELD_LIST(mains, CYAML_FLAG_DEFAULT),
    FIELD_LIST(binaries, CYAML_FLAG_DEFAULT),
    FIELD_TEXT(package),
    FIELD_TEXT(source),
    FIELD_LIST(run, CYAML_FLAG_DEFAULT),
    FIELD_LIST(env, MAYBE),
    CYAML_FIELD_MAPPING("selftest", CYAML_FLAG_DEFAULT, struct language_file, selftest,
                        selftest_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t language_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct language_file, language_fields),
};

static bool is_name(const char *text)
{
    for (; *text; text++) {
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) &&
            !strchr("+#-", *text))
            return false;
    }
    return true;
}

/* The last suffix decides, so a second dot could never match. */
static bool is_extension(const char *text)
{
    return text[0] == '.' && text[1] != '\0' && !strpbrk(text + 1, "./");
}

static bool is_file_name(const char *text)
{
    return !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static bool is_absolute(const char *text)
{
    return text[0] == '/';
}

static bool is_setting(const char *text)
{
    return strchr(text, '=') > text;
}

/* Only ${binary} and ${source} are replaced; anything else would reach the program as it is. */
static bool is_run_word(const char *text)
{
    const char *at = strstr(text, "${");

    for (; at; at = strstr(at + 2, "${")) {
        if (strncmp(at, "${binary}", 9) != 0 && strncmp(at, "${source}", 9) != 0)
            return false;
    }
    return true;
}

struct list_check {
    const char *field;
    char *const *entries;
    unsigned n;
    bool (*is_right)(const char *text);
    const char *should;
};

static int list_check(const char *path, const struct list_check *check, sbr_error *err)
{
    for (unsigned i = 0; i < check->n; i++) {
        if (!check->is_right(check->entries[i]))
            return err_set(err, SBR_E_INVALID, "compile", "%s:%u: in '%s': '%s' should be %s", path,
                           document_line_of(path, check->field), check->field, check->entries[i],
                           check->should);
    }
    return 0;
}

static int language_check_run(const char *path, const struct language_file *l, sbr_error *err)
{
    bool has_source = false;

    for (unsigned i = 1; i < l->run_count; i++)
        has_source = has_source || strstr(l->run[i], "${source}");
    if (strcmp(l->run[0], "${binary}") != 0 || !has_source)
        return err_set(err, SBR_E_INVALID, "compile",
                       "%s:%u: in 'run': the list should start with ${binary} and contain "
                       "${source}",
                       path, document_line_of(path, "run"));
    return 0;
}

static int language_check(const char *path, const struct language_file *l, sbr_error *err)
{
    const char *const name_rule = "lower case letters, digits, '+', '#' and '-'";
    /* clang-format off */
    const struct list_check checks[] = {
        { "name",       &l->name,      1,                   is_name,      name_rule },
        { "aliases",    l->aliases,    l->aliases_count,    is_name,      name_rule },
        { "extensions", l->extensions, l->extensions_count, is_extension, "a dot and one suffix" },
        { "shebangs",   l->shebangs,   l->shebangs_count,   is_file_name, "a name without a path" },
        { "mains",      l->mains,      l->mains_count,      is_file_name, "a name without a path" },
        { "source",     &l->source,    1,                   is_file_name, "a name without a path" },
        { "binaries",   l->binaries,   l->binaries_count,   is_absolute,  "an absolute path" },
        { "env",        l->env,        l->env_count,        is_setting,   "NAME=VALUE" },
        { "run",        l->run,        l->run_count,        is_run_word,
          "free of ${...} other than ${binary} and ${source}" },
    };
    /* clang-format on */

    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        int r = list_check(path, &checks[i], err);

        if (r < 0)
            return r;
    }
    return language_check_run(path, l, err);
}

int language_file_load(const char *path, struct language_file **ret, sbr_error *err)
{
    void *data;
    int r = document_load(path, &language_schema, &data, err);

    if (r < 0)
        return r;
    r = language_check(path, data, err);
    if (r < 0) {
        document_free(&language_schema, data);
        return r;
    }
    *ret = data;
    return 0;
}

void language_file_free(struct language_file *file)
{
    document_free(&language_schema, file);
}
