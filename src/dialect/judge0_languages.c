#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/judge0.h"
#include "http/server.h"

/* clang-format off */
static const struct {
    json_int_t id;
    const char *language, *shown, *selector;
} ids[] = {
    {  46, "bash",       "Bash",                 "*" },
    {  48, "c",          "C (GCC",               "*" },
    {  49, "c",          "C (GCC",               "*" },
    {  50, "c",          "C (GCC",               "*" },
    {  52, "cpp",        "C++ (GCC",             "*" },
    {  53, "cpp",        "C++ (GCC",             "*" },
    {  54, "cpp",        "C++ (GCC",             "*" },
    {  60, "go",         "Go",                   "*" },
    {  62, "java",       "Java",                 "*" },
    {  63, "javascript", "JavaScript",           "*" },
    {  64, "lua",        "Lua",                  "*" },
    {  68, "php",        "PHP",                  "*" },
    {  70, "python",     "Python",               "2.x" },
    {  71, "python",     "Python",               "3.x" },
    {  72, "ruby",       "Ruby",                 "*" },
    {  73, "rust",       "Rust",                 "*" },
    {  74, "typescript", "TypeScript",           "*" },
    {  80, "r",          "R",                    "*" },
    {  82, "sql",        "SQL",                  "*" },
    {  85, "perl",       "Perl",                 "*" },
    {  91, "java",       "Java",                 "17.x" },
    {  92, "python",     "Python",               "3.11.x" },
    { 100, "python",     "Python",               "3.12.x" },
    { 109, "python",     "Python",               "3.13.x" },
    {  93, "javascript", "JavaScript",           "18.x" },
    {  97, "javascript", "JavaScript",           "20.x" },
    { 102, "javascript", "JavaScript",           "22.x" },
};
/* clang-format on */

static const struct catalog_row *row_of(const struct catalog *catalog, const struct grant *tenant,
                                        size_t i)
{
    return catalog_find(catalog, tenant, ids[i].language, ids[i].selector);
}

const struct catalog_row *judge0_language(const struct catalog *catalog, const struct grant *tenant,
                                          json_int_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        if (ids[i].id == id)
            return row_of(catalog, tenant, i);
    return NULL;
}

/* As Judge0 writes it: "Python (3.11.2)", "C (GCC 12.2.0)". */
static json_t *describe(const struct catalog_row *row, size_t i)
{
    char name[100];

    snprintf(name, sizeof(name), "%s%s%s)", ids[i].shown, strchr(ids[i].shown, '(') ? " " : " (",
             row->version);
    return json_pack("{s:I, s:s}", "id", ids[i].id, "name", name);
}

json_t *judge0_describe_language(const struct catalog *catalog, const struct grant *tenant,
                                 json_int_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        if (ids[i].id == id && row_of(catalog, tenant, i))
            return describe(row_of(catalog, tenant, i), i);
    return NULL;
}

void judge0_languages(struct exchange *x)
{
    bool all = strlen(x->path) > 4 && !strcmp(x->path + strlen(x->path) - 4, "/all");
    json_t *list;

    if (!catalog_is_ready(x))
        return;
    list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const struct catalog_row *row = row_of(x->server->catalog, &x->tenant, i);
        json_t *one = row ? describe(row, i) : NULL;

        if (one && all)
            json_object_set_new(one, "is_archived", json_false());
        if (one)
            json_array_append_new(list, one);
    }
    translate_reply(x, HTTP_OK, list);
}

void judge0_one_language(struct exchange *x)
{
    const struct catalog_row *row;
    json_int_t id = strtol(x->words[0], NULL, 10);
    json_t *one;

    if (!catalog_is_ready(x))
        return;
    row = judge0_language(x->server->catalog, &x->tenant, id);
    if (!row) {
        translate_reply(x, HTTP_NOT_FOUND, json_pack("{s:s}", "error", "no such language"));
        return;
    }
    one = judge0_describe_language(x->server->catalog, &x->tenant, id);
    json_object_update_new(one, json_pack("{s:b, s:s, s:n, s:n}", "is_archived", 0, "source_file",
                                          row->language->source, "compile_cmd", "run_cmd"));
    translate_reply(x, HTTP_OK, one);
}
