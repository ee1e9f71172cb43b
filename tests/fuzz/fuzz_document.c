/* YAML that a project brings, through a schema with every kind of value that ours have. */
#include <stdbool.h>

#include "base/document.h"
#include "fuzz.h"

struct entry {
    char *name;
    unsigned int points;
    bool each;
    DOCUMENT_LIST(cases);
};

struct file {
    char *about;
    struct entry *groups;
    unsigned int groups_count;
};

#define MAYBE (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_field_t entry_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct entry, name, 1, 60),
    CYAML_FIELD_UINT("points", CYAML_FLAG_OPTIONAL, struct entry, points),
    CYAML_FIELD_BOOL("each", CYAML_FLAG_OPTIONAL, struct entry, each),
    CYAML_FIELD_SEQUENCE("cases", MAYBE, struct entry, cases, &document_text, 0, 1000),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t entry_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct entry, entry_fields),
};

static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("about", MAYBE, struct file, about, 1, 1000),
    CYAML_FIELD_SEQUENCE("groups", MAYBE, struct file, groups, &entry_schema, 0, 1000),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file, file_fields),
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    sbr_error err = { 0 };
    void *found = NULL;

    if (document_load_text("x.yaml", text, size, &file_schema, &found, &err) == 0) {
        const struct file *file = found;
        size_t kept = file->about ? strlen(file->about) : 0;

        for (unsigned int i = 0; i < file->groups_count; i++)
            for (unsigned int k = 0; k < file->groups[i].cases_count; k++)
                kept += strlen(file->groups[i].cases[k]);
        FUZZ_ASSERT(kept <= size); /* no alias made it longer */
    } else {
        FUZZ_ASSERT(!found && err.code < 0 && err.message[0] && !strchr(err.message, '\n'));
    }
    document_free(&file_schema, found);
    free(text);
    return 0;
}
