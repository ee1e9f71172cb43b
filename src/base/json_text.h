/* Foreign JSON that is handed on as text: checked and copied without a tree, whatever is in it.
 *
 * What comes out is one line that jansson reads with JSON_ALLOW_NUL: each string is UTF-8, each
 * number fits a double or 18 digits, and no blank stands outside of strings. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/buf.h"
#include "base/json_read.h"

#define JSON_TEXT_DEPTH 64 /* the most that a bound can allow */

enum json_text_found {
    JSON_TEXT_FITS,
    JSON_TEXT_TOO_MUCH, /* for its bounds, for `out`, or a number that readers refuse */
    JSON_TEXT_WRONG     /* no JSON */
};

/* Adds the text to `out`, or nothing.  *ret_values, on success: what counts for `most->values`, as
 * json_read_scan counts. */
enum json_text_found json_text_add(struct buf *out, const char *text, size_t len,
                                   const struct json_bounds *most, size_t *ret_values);

#endif
