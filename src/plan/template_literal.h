/* Writes a text as a string literal of a language, in the style that its file names in `literal`:
 * c, go, java, json, lua, perl, php, postgres, python, r, ruby, rust, shell, sql.
 *
 * Invariants: (1) The language reads the literal as the same bytes, or the value is refused.  (2)
 * Nothing in a value can end the literal or act as an expression inside it.  (3) Where the language
 * has escapes, the literal is ASCII, so that the encoding of the file does not matter. */
#ifndef PLAN_TEMPLATE_LITERAL_H
#define PLAN_TEMPLATE_LITERAL_H

#include <stddef.h>

#include "base/buf.h"

struct literal_style;

/* NULL for an unknown style. */
const struct literal_style *template_literal_style_find(const char *name);

/* What no literal of the style can contain. */
enum literal_fault { LITERAL_OK = 0, LITERAL_NUL, LITERAL_NOT_UTF8 };

enum literal_fault template_literal_check(const struct literal_style *style, const void *data,
                                          size_t len);
/* The value must have passed template_literal_check. */
void template_literal_put(struct buf *out, const struct literal_style *style, const void *data,
                          size_t len);

#endif
