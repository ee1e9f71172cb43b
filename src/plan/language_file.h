/* languages/NAME.yaml and files of the same form that a user brings; what the fields mean is said in
 * plan/language.h. */
#ifndef PLAN_LANGUAGE_FILE_H
#define PLAN_LANGUAGE_FILE_H

#include "base/document.h"
#include "plan/language.h"

extern const cyaml_schema_value_t language_schema;

/* Reads and checks one file; drivers are read from the folder `drivers` beside it.  The caller frees
 * it. */
int language_file_load(const char *path, struct language **ret, sbr_error *err) must_check;
/* Reads it and makes it known, for the life of the process. */
int language_file_add(const char *path, sbr_error *err) must_check;
void language_file_free(struct language *language);

#endif
