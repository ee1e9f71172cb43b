/* A template is a program with markers in it:
 *
 *   {{code}}       the user's code, once, unchanged
 *   {{NAME}}       the value of NAME as a string literal of the language (template_literal.c)
 *   {{NAME:raw}}   the value of NAME, unchanged
 *   {{{{           two braces
 *
 * There are no conditions and no loops, and inserted text is not expanded again.  When only blanks
 * precede {{code}} in its line, the other lines of the code get the same blanks, so that it fits a
 * block of Python; empty lines get none.  For code with multi-line strings, {{code}} should start
 * its line, so that nothing is added. */
#ifndef PLAN_TEMPLATE_H
#define PLAN_TEMPLATE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/request.h"

struct literal_style;

#define TEMPLATE_MAX_VALUES 64

struct template_value {
    const char *name;
    const char *data; /* never NULL */
    size_t len;
};

struct template_input {
    const char *name; /* of the template, for messages */
    const char *text;
    size_t len;
    const char *code;
    size_t code_len;
    const struct template_value *values;
    size_t n_values;
    const char *value_word; /* what messages call a value: "--set" */
    const char *literal;    /* style of the language's literals; NULL: none */
};

/* The position of the code in the program. */
struct template_place {
    unsigned int code_line; /* from 1 */
    unsigned int code_lines;
};

/* A name is a letter or _, then letters, digits, _ or -; "code" is reserved. */
bool template_name_is_valid(const char *name);

/* Adds the program to `out`; messages name the template's line.  `out` is unchanged on failure. */
int template_expand(const struct template_input *in, struct buf *out, struct template_place *ret,
                    sbr_error *err) must_check;

/* The built-in templates: templates/LANGUAGE/NAME.EXTENSION.in. */
struct template
{
    const char *language;
    const char *name;
    const char *text;
};

/* Ends with a NULL language; generated from templates/. */
extern const struct template template_table[];

/* NULL when there is none. */
const char *template_find(const char *language, const char *name);

/* The program of a request in a template. */

/* `name` is for messages; without `text` it is a template that ships with the request's language.
 * `values` are NAME=VALUE.  The program was set before. */
struct template_use {
    const char *name;
    const char *text;
    size_t len;
    const char *const *values;
    size_t n_values;
};

/* Replaces the program by the template with the program in it. */
int template_program(sbr_request *req, const struct template_use *use, sbr_error *err) must_check;

/* Writes a text as a string literal of a language, in the style that its file names in `literal`:
 * c, go, java, json, lua, perl, php, postgres, python, r, ruby, rust, shell, sql.
 *
 * Invariants: (1) The language reads the literal as the same bytes, or the value is refused.  (2)
 * Nothing in a value can end the literal or act as an expression inside it.  (3) Where the language
 * has escapes, the literal is ASCII, so that the encoding of the file does not matter. */

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
