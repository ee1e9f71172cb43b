#include "work/cases.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/document.h"
#include "base/listing.h"
#include "base/scope.h"
#include "base/text.h"

#define MOST_CASES 100000
#define MOST_DEPTH 4
#define GROUPS_FILE "cases.yaml"

/* cases.yaml as libcyaml reads it. */
struct group_file {
    char *name;
    uint64_t points;
    DOCUMENT_LIST(cases);
    char *timeout, *memory;
    bool each;
};

struct cases_file {
    char *checker, *tolerance;
    struct group_file *groups;
    unsigned int groups_count;
};

static const cyaml_schema_field_t group_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct group_file, name, 1, 60),
    CYAML_FIELD_UINT("points", CYAML_FLAG_OPTIONAL, struct group_file, points),
    CYAML_FIELD_SEQUENCE("cases", CYAML_FLAG_POINTER, struct group_file, cases, &document_text, 1,
                         1000),
    CYAML_FIELD_STRING_PTR("timeout", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct group_file,
                           timeout, 1, 40),
    CYAML_FIELD_STRING_PTR("memory", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct group_file,
                           memory, 1, 40),
    CYAML_FIELD_BOOL("each", CYAML_FLAG_OPTIONAL, struct group_file, each),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t group_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct group_file, group_fields),
};

static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("checker", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct cases_file,
                           checker, 1, 1000),
    CYAML_FIELD_STRING_PTR("tolerance", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct cases_file,
                           tolerance, 1, 60),
    CYAML_FIELD_SEQUENCE("groups", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct cases_file,
                         groups, &group_schema, 0, 1000),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct cases_file, file_fields),
};

static int read_group(const struct group_file *from, struct case_group *ret, sbr_error *err)
{
    *ret = (struct case_group){ .name = from->name, .points = from->points, .each = from->each };
    limits_init(&ret->limits);
    if ((from->timeout && limits_set_text(&ret->limits, SBR_WALL_MS, from->timeout, err) < 0) ||
        (from->memory && limits_set_text(&ret->limits, SBR_MEMORY_BYTES, from->memory, err) < 0))
        return err->code;
    return 0;
}

/* The group whose pattern matches first. */
static size_t group_of(const struct cases_file *file, const char *name)
{
    for (unsigned int g = 0; g < file->groups_count; g++)
        for (unsigned int i = 0; i < file->groups[g].cases_count; i++)
            if (fnmatch(file->groups[g].cases[i], name, 0) == 0)
                return g;
    return CASES_NO_GROUP;
}

static int set_groups(struct cases *cases, const struct cases_file *file, sbr_error *err)
{
    cases->groups = calloc(file->groups_count + 1, sizeof(*cases->groups));
    if (!cases->groups)
        return err_set_oom(err, "cases");
    cases->n_groups = file->groups_count;
    for (unsigned int g = 0; g < file->groups_count; g++)
        if (read_group(&file->groups[g], &cases->groups[g], err) < 0)
            return err->code;
    for (size_t i = 0; i < cases->n; i++)
        cases->items[i].group = group_of(file, cases->items[i].name);
    if (file->checker && !(cases->checker = strdup(file->checker)))
        return err_set_oom(err, "cases");
    if (file->tolerance && !(cases->tolerance = strdup(file->tolerance)))
        return err_set_oom(err, "cases");
    return 0;
}

int cases_read(struct cases *cases, const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    struct project_text text = { 0 };
    int r;

    /* One after the other, so the bound is of each. */
    cases->tree.bytes = cases->tree.most = REQUEST_MAX_BYTES;
    cases->tree.entries = 1;
    r = project_file_read(&cases->tree, path, &text, err);
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "cases",
                       "there is no '%.200s' among the cases, or it is left out", path);
    *ret = text.data;
    *ret_len = text.len;
    return r < 0 ? r : 0;
}

static int read_groups(struct cases *cases, sbr_error *err)
{
    struct project_text text = { 0 };
    int r = project_file_read(&cases->tree, GROUPS_FILE, &text, err);

    if (r > 0)
        r = document_load_text(GROUPS_FILE, text.data, text.len, &file_schema, &cases->file, err);
    free(text.data);
    return r == 0 && cases->file ? set_groups(cases, cases->file, err) : r;
}

static const char *const answer_endings[] = { "out", "ans" };

/* The path of the expected output; NULL: there is none. */
static int find_answer(const struct cases *cases, const char *stem, char **ret, sbr_error *err)
{
    for (size_t i = 0; i < sizeof(answer_endings) / sizeof(*answer_endings); i++) {
        scoped_free char *path = text_format("%s.%s", stem, answer_endings[i]);

        if (!path)
            return err_set_oom(err, "cases");
        if (project_file_type(&cases->tree, path)) {
            *ret = take_ptr(path);
            return 0;
        }
    }
    return 0;
}

static int add_case(struct cases *cases, const char *name, size_t len, sbr_error *err)
{
    scoped_free char *stem = strndup(name, len);
    struct work_case *grown, *item;

    if (cases->n == MOST_CASES)
        return err_set(err, SBR_E_INVALID, "cases", "there are more than %d cases", MOST_CASES);
    grown = stem ? realloc(cases->items, (cases->n + 1) * sizeof(*grown)) : NULL;
    if (!grown)
        return err_set_oom(err, "cases");
    cases->items = grown;
    item = &grown[cases->n++];
    *item = (struct work_case){ .group = CASES_NO_GROUP };
    item->name = strndup(name, len);
    item->input = text_format("%s.in", stem);
    if (!item->name || !item->input)
        return err_set_oom(err, "cases");
    return find_answer(cases, stem, &item->expected, err);
}

/* `below` is the path of the directory, and the beginning of its cases' names. */
static int walk(struct cases *cases, const char *below, unsigned int depth, sbr_error *err)
{
    scoped_listing struct listing list = { 0 };
    int r = project_file_list(&cases->tree, below, &list, err);

    for (size_t i = 0; r >= 0 && i < list.n; i++) {
        scoped_free char *name = text_format("%s%s%s", below, *below ? "/" : "", list.names[i]);
        size_t len = name ? strlen(name) : 0;

        if (!name)
            return err_set_oom(err, "cases");
        if (len > 3 && !strcmp(name + len - 3, ".in"))
            r = add_case(cases, name, len - 3, err);
        else if (depth < MOST_DEPTH && project_file_type(&cases->tree, name) == S_IFDIR)
            r = walk(cases, name, depth + 1, err);
    }
    return r < 0 ? r : 0;
}

int cases_load(const char *dir, const sbr_request *req, struct cases *ret, sbr_error *err)
{
    struct cases cases = { 0 };
    int r = project_file_begin(dir, req, "cases", &cases.tree, err);

    cases.tree.entries = 4 * MOST_CASES;
    if (r == 0)
        r = walk(&cases, "", 0, err);
    if (r == 0 && !cases.n)
        r = err_set(err, SBR_E_NOT_FOUND, "cases",
                    "there is no case in '%.200s': a case is a file NAME.in, with NAME.out beside "
                    "it",
                    dir);
    if (r == 0)
        r = read_groups(&cases, err);
    if (r < 0)
        cases_done(&cases);
    else
        *ret = cases;
    return r;
}

void cases_done(struct cases *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        free(cases->items[i].name);
        free(cases->items[i].input);
        free(cases->items[i].expected);
    }
    free(cases->items);
    free(cases->groups);
    free(cases->checker);
    free(cases->tolerance);
    if (cases->file)
        document_free(&file_schema, cases->file);
    project_file_end(&cases->tree);
    *cases = (struct cases){ .tree = { .fd = -1 } };
}
