#include "lib/image_making.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "plan/language.h"

#define WORDS_MAX 1000

#define EMBEDDED(name) extern const unsigned char name##_image_start[], name##_image_end[]
EMBEDDED(build_go);
EMBEDDED(build_java);
EMBEDDED(build_python);
EMBEDDED(build_rust);
EMBEDDED(build_typescript);

/* clang-format off */
#define SHIPPED(name) { #name, build_##name##_image_start, build_##name##_image_end }
static const struct shipped {
    const char *name;
    const unsigned char *start, *end;
} shipped[] = { SHIPPED(go), SHIPPED(java), SHIPPED(python), SHIPPED(rust), SHIPPED(typescript) };
/* clang-format on */

#define MAYBE (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(field) CYAML_FIELD_STRING_PTR(#field, MAYBE, struct image_recipe, field, 1, 4096)
#define LIST(field, flags, least)                                                                  \
    CYAML_FIELD_SEQUENCE(#field, flags, struct image_recipe, field, &document_text, least,         \
                         WORDS_MAX)

static const cyaml_schema_field_t fields[] = {
    TEXT(about),
    TEXT(workdir),
    TEXT(user),
    TEXT(language),
    LIST(packages, CYAML_FLAG_POINTER, 1),
    LIST(deps, MAYBE, 1),
    LIST(sources, MAYBE, 0),
    LIST(links, MAYBE, 0),
    LIST(env, MAYBE, 0),
    LIST(command, MAYBE, 0),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct image_recipe, fields),
};

const char *image_recipe_name(size_t i)
{
    return i < ARRAY_LEN(shipped) ? shipped[i].name : NULL;
}

/* A package, as in "python3" or "python3=3.11.*"; nothing that apt takes for an option. */
static bool is_package(const char *text)
{
    bool begun = islower((unsigned char)text[0]) || isdigit((unsigned char)text[0]);

    for (const char *at = text; begun && *at; at++)
        begun = isalnum((unsigned char)*at) || strchr("+.:~=*_-", *at);
    return begun;
}

static bool is_link(const char *text)
{
    return text[0] != '/' && strchr(text, ' ') && !strchr(text, '\n') && !strstr(text, "..");
}

static int check_language(const char *file, const struct image_recipe *recipe, sbr_error *err)
{
    const struct language *language;

    if (!recipe->language != !recipe->deps_count)
        return err_set(err, SBR_E_INVALID, "build",
                       "%.150s: 'deps' are packages of a 'language'; give both of them or none",
                       file);
    if (!recipe->language)
        return 0;
    if (language_resolve(recipe->language, &language, err) < 0)
        return err->code;
    /* The name is that of a directory in the image. */
    if (strcmp(language->name, recipe->language) != 0)
        return err_set(err, SBR_E_INVALID, "build", "%.150s: write '%s' for the language '%.60s'",
                       file, language->name, recipe->language);
    if (!language->install.run.n)
        return err_set(err, SBR_E_UNSUPPORTED, "build",
                       "%.150s: %s has no package registry here; leave 'deps' out", file,
                       language->name);
    return 0;
}

static int check(const char *file, const struct image_recipe *recipe, sbr_error *err)
{
    for (unsigned int i = 0; i < recipe->packages_count; i++)
        if (!is_package(recipe->packages[i]))
            return err_set(err, SBR_E_INVALID, "build",
                           "%.150s: '%.80s' is no package; as in python3 or python3=3.11.*", file,
                           recipe->packages[i]);
    for (unsigned int i = 0; i < recipe->links_count; i++)
        if (!is_link(recipe->links[i]))
            return err_set(err, SBR_E_INVALID, "build",
                           "%.150s: '%.80s' is no link; as in 'usr/bin/awk mawk', below the root",
                           file, recipe->links[i]);
    return check_language(file, recipe, err);
}

static int refuse_name(const char *file, sbr_error *err)
{
    char known[100] = "";

    for (size_t i = 0, len = 0; i < ARRAY_LEN(shipped); i++)
        len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
                                shipped[i].name);
    return err_set(err, SBR_E_NOT_FOUND, "build",
                   "there is no image '%.100s' to build; %s are known, and ./FILE.yaml names a "
                   "file of yours",
                   file, known);
}

int image_recipe_load(const char *file, struct image_recipe **ret, sbr_error *err)
{
    const struct shipped *found = NULL;
    int r;

    for (size_t i = 0; i < ARRAY_LEN(shipped); i++)
        if (!strcmp(file, shipped[i].name))
            found = &shipped[i];
    if (!found && !strpbrk(file, "/."))
        return refuse_name(file, err);
    r = found ? document_load_text(file, (const char *)found->start,
                                   (size_t)(found->end - found->start), &schema, (void **)ret, err)
              : document_load(file, &schema, (void **)ret, err);
    if (r == 0)
        r = check(file, *ret, err);
    return r;
}

void image_recipe_free(struct image_recipe *recipe)
{
    document_free(&schema, recipe);
}
