/* The one schema for both the reader of language files and the generator of built-in tables
 * (generate/generate_languages.c).  A field is one row here and one member in plan/language.h. */
#include "plan/language_file.h"

#define OWNED CYAML_FLAG_POINTER /* libcyaml allocates it */
#define MAYBE CYAML_FLAG_OPTIONAL
#define TEXT_MAX 65536

#define TEXT(type, field, flags)                                                                   \
    CYAML_FIELD_STRING_PTR(#field, OWNED | (flags), type, field, 1, TEXT_MAX)
/* NOLINTBEGIN(bugprone-macro-parentheses): `field` names a member */
#define WORDS(type, field, flags)                                                                  \
    CYAML_FIELD_SEQUENCE_COUNT(#field, OWNED | (flags), type, field.at, field.n, &document_text,   \
                               0, CYAML_UNLIMITED)
/* NOLINTEND(bugprone-macro-parentheses) */
#define RULES(type, field, entry)                                                                  \
    CYAML_FIELD_SEQUENCE_COUNT(#field, OWNED | MAYBE, type, field, n_##field, entry, 0,            \
                               CYAML_UNLIMITED)
#define GROUP(type, field) CYAML_FIELD_INT(#field, MAYBE, type, field)
#define FLAG(type, field) CYAML_FIELD_BOOL(#field, MAYBE, type, field)
#define PART(field, fields) CYAML_FIELD_MAPPING(#field, MAYBE, struct language, field, fields)

static const cyaml_schema_field_t manifest_fields[] = {
    TEXT(struct manifest, file, 0),
    TEXT(struct manifest, when, MAYBE),
    TEXT(struct manifest, below, MAYBE),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t manifest_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct manifest, manifest_fields),
};

static const cyaml_schema_field_t registry_fields[] = {
    TEXT(struct registry, host, 0),
    TEXT(struct registry, unless, MAYBE),
    TEXT(struct registry, when, MAYBE),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t registry_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct registry, registry_fields),
};

static const cyaml_schema_field_t stage_fields[] = {
    WORDS(struct stage_def, run, 0),
    WORDS(struct stage_def, env, MAYBE),
    WORDS(struct stage_def, drivers, MAYBE),
    WORDS(struct stage_def, limits, MAYBE),
    FLAG(struct stage_def, network),
    FLAG(struct stage_def, optional),
    FLAG(struct stage_def, system),
    WORDS(struct stage_def, config_env, MAYBE),
    WORDS(struct stage_def, config_files, MAYBE),
    WORDS(struct stage_def, config_shown, MAYBE),
    RULES(struct stage_def, registries, &registry_entry),
    RULES(struct stage_def, manifests, &manifest_entry),
    WORDS(struct stage_def, locks, MAYBE),
    WORDS(struct stage_def, sources, MAYBE),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t warm_fields[] = {
    WORDS(struct warm_def, run, MAYBE),    WORDS(struct warm_def, compile, MAYBE),
    WORDS(struct warm_def, zygote, MAYBE), WORDS(struct warm_def, drivers, MAYBE),
    FLAG(struct warm_def, fixed_env),      CYAML_FIELD_END,
};

static const cyaml_schema_field_t session_fields[] = {
    WORDS(struct session_def, run, 0),
    WORDS(struct session_def, drivers, MAYBE),
    TEXT(struct session_def, extension, 0),
    TEXT(struct session_def, keeps, MAYBE),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t profile_fields[] = {
    WORDS(struct profile_def, run, 0),
    WORDS(struct profile_def, drivers, MAYBE),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t main_in_fields[] = {
    TEXT(struct main_in, file, 0),
    TEXT(struct main_in, match, 0),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t frame_fields[] = {
    TEXT(struct frame_rule, match, 0),  GROUP(struct frame_rule, file),
    GROUP(struct frame_rule, line),     GROUP(struct frame_rule, column),
    GROUP(struct frame_rule, function), CYAML_FIELD_END,
};

static const cyaml_schema_value_t frame_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct frame_rule, frame_fields),
};

static const cyaml_schema_field_t error_fields[] = {
    TEXT(struct error_rule, match, 0),
    TEXT(struct error_rule, type, 0),
    TEXT(struct error_rule, message, MAYBE),
    TEXT(struct error_rule, suggestion, MAYBE),
    TEXT(struct error_rule, link, MAYBE),
    GROUP(struct error_rule, file),
    GROUP(struct error_rule, line),
    GROUP(struct error_rule, column),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t error_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct error_rule, error_fields),
};

static const cyaml_schema_field_t diagnosis_fields[] = {
    TEXT(struct diagnosis_rules, link, MAYBE),
    FLAG(struct diagnosis_rules, innermost_first),
    WORDS(struct diagnosis_rules, ours, MAYBE),
    RULES(struct diagnosis_rules, frames, &frame_entry),
    RULES(struct diagnosis_rules, errors, &error_entry),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t selftest_fields[] = {
    CYAML_FIELD_STRING_PTR("code", OWNED, struct selftest, code, 1, TEXT_MAX),
    CYAML_FIELD_STRING_PTR("stdin", OWNED | MAYBE, struct selftest, stdin_text, 0, TEXT_MAX),
    CYAML_FIELD_STRING_PTR("stdout", OWNED, struct selftest, stdout_text, 0, TEXT_MAX),
    CYAML_FIELD_INT("exit", CYAML_FLAG_DEFAULT, struct selftest, exit_code),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t language_fields[] = {
    TEXT(struct language, name, 0),
    TEXT(struct language, about, 0),
    WORDS(struct language, aliases, MAYBE),
    WORDS(struct language, extensions, MAYBE),
    WORDS(struct language, shebangs, MAYBE),
    WORDS(struct language, mains, 0),
    PART(main_in, main_in_fields),
    WORDS(struct language, binaries, 0),
    WORDS(struct language, needs, MAYBE),
    WORDS(struct language, version, MAYBE),
    TEXT(struct language, release, MAYBE),
    TEXT(struct language, package, 0),
    TEXT(struct language, image, MAYBE),
    TEXT(struct language, source, 0),
    TEXT(struct language, literal, MAYBE),
    TEXT(struct language, opening, MAYBE),
    TEXT(struct language, deps_link, MAYBE),
    WORDS(struct language, env, MAYBE),
    WORDS(struct language, drivers, MAYBE),
    PART(prepare, stage_fields),
    PART(install, stage_fields),
    PART(compile, stage_fields),
    PART(setup, stage_fields),
    PART(check, stage_fields),
    WORDS(struct language, run, 0),
    WORDS(struct language, command, MAYBE),
    PART(warm, warm_fields),
    PART(session, session_fields),
    PART(profile, profile_fields),
    PART(diagnosis, diagnosis_fields),
    CYAML_FIELD_MAPPING("selftest", CYAML_FLAG_DEFAULT, struct language, selftest, selftest_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t language_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct language, language_fields),
};
