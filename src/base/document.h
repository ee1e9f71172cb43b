/* One YAML file, read through a libcyaml schema; a fault becomes one sentence with its place. */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H
#include <cyaml/cyaml.h>

#include "base/err.h"

/* A list of strings, as libcyaml fills it: the count follows the pointer. */
#define DOCUMENT_LIST(name)                                                                        \
    char **name;                                                                                   \
    unsigned name##_count

/* The schema of a list's entries: any text that is not empty. */
extern const cyaml_schema_value_t document_text;

/* A document has at most 4 MiB, takes at most 32 MiB of memory, and has no aliases: somebody else
 * may have written it.  0, or SBR_E_*.  The caller frees *ret_data with document_free(). */
int document_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
                  sbr_error *err) must_check;
/* The same for a text that was read already; `name` is for errors. */
int document_load_text(const char *name, const char *text, size_t len,
                       const cyaml_schema_value_t *schema, void **ret_data, sbr_error *err)
    must_check;
void document_free(const cyaml_schema_value_t *schema, void *data);

/* libcyaml does not keep the place of a value, so a fault that is found later looks its word up
 * again: the first line outside comments where `word` stands alone, or 0. */
unsigned document_line_of(const char *path, const char *word);

#endif
