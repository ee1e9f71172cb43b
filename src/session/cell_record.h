/* What a session has executed: cells.jsonl in its directory, one line per cell, and what can be
 * made of it. */
#ifndef SESSION_CELL_RECORD_H
#define SESSION_CELL_RECORD_H

#include <jansson.h>

#include "session/session_dir.h"

/* What was executed; `language` NULL: in the session's own. */
struct cell_source {
    const char *code;
    size_t len;
    const char *language;
};

/* Adds a cell; `result` is the JSON of its result.  A record that has grown too long keeps only the
 * code of further cells. */
void cell_record_add(const struct session_dir *dir, uint64_t number,
                     const struct cell_source *source, const char *result);
/* Adds the record of another session, as it was read. */
void cell_record_write(const struct session_dir *dir, const char *text);
void cell_record_clear(const struct session_dir *dir);
/* Cells from this number on are no part of the state any more. */
void cell_record_back(const struct session_dir *dir, uint64_t number);
/* All cells: an array of {"cell", "code", "result"}, and "lang" of another language; NULL without
 * memory. */
json_t *cell_record_read(const struct session_dir *dir);
/* The same of a record that was read; NULL has no cells. */
json_t *cell_record_parse(const char *text);

/* The cells as a text of this format: "ipynb", "md", or the language's own ("py", "js", "sql").
 * NULL and an error for another one.  The caller frees it. */
char *cell_record_export(const json_t *cells, const char *language, const char *extension,
                         const char *format, sbr_error *err);
/* The cells of a notebook or of a cells.jsonl: the same form as above.  NULL and an error for
 * another file. */
json_t *cell_record_import(const char *text, size_t len, sbr_error *err);
/* What differs between a recorded result and a new one, or NULL: {"cell", "expected", "found"}. */
json_t *cell_record_compare(const json_t *recorded, const json_t *result);

#endif
