/* Reads languages/NAME.yaml and users' files of that form; plan/language.h has the fields. */
#ifndef PLAN_LANGUAGE_FILE_H
#define PLAN_LANGUAGE_FILE_H

#include "base/document.h"
#include "plan/language.h"

extern const cyaml_schema_value_t language_schema;

/* Reads and checks one file, and its drivers from the folder `drivers` in the same directory.  The
 * caller frees the language. */
int language_file_load(const char *path, struct language **ret, sbr_error *err) must_check;
/* Reads a file and adds its language for the life of the process. */
int language_file_add(const char *path, sbr_error *err) must_check;
/* Adds the same language with one binary, for the life of the process. */
int language_file_add_binary(const struct language *language, const char *path, sbr_error *err)
    must_check;
void language_file_free(struct language *language);

#endif
