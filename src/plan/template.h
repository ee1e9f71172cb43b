/* A template is a program with markers in it:
 *
 *   {{code}}       the user's code, once, unchanged
 *   {{NAME}}       the value of NAME as a string literal of the language (plan/template_literal.h)
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

#endif
