/* Notebooks as nbformat 4 has them, from and to the cells of a session. */
#ifndef SESSION_NOTEBOOK_H
#define SESSION_NOTEBOOK_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* What a result has of a stream, as UTF-8: the beginning, how much is left out, the end.  The
 * caller frees it. */
char *notebook_stream(const json_t *result, const char *stream);

/* The cells of a session, {"code", "result"} each, as the text of a notebook.  The caller frees
 * it. */
char *notebook_write(const json_t *cells, const char *language);

/* The text of a file as a notebook; NULL and an error when it is none, or of another version. */
json_t *notebook_load(const char *text, size_t len, sbr_error *err);
/* Its text, as Jupyter would write it.  The caller frees it. */
char *notebook_dump(const json_t *book);
/* The name of its language as it says it; NULL: it does not. */
const char *notebook_language(const json_t *book, const char *(*known)(const char *name));

bool notebook_is_code(const json_t *cell);
bool notebook_has_tag(const json_t *cell, const char *tag);
/* The source of a cell; the caller frees it.  *ret_language, borrowed from the cell, is the one of
 * a kernel beside the notebook's own, or NULL: sessions write it down, with a first line "%%NAME"
 * for other readers, which the source has no more. */
char *notebook_source(const json_t *cell, const char **ret_language);
/* Replaces the outputs of a cell. */
void notebook_set_outputs(json_t *cell, const json_t *result, json_int_t number);
/* The code cells, with what can be compared of their outputs: {"code", "result"}. */
json_t *notebook_cells(const json_t *book);

#endif
