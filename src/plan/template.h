/* A template is a program with places in it:
 *
 *   {{code}}       the user's code, once, as it is
 *   {{NAME}}       the value of NAME as a string literal of the language (plan/template_literal.h)
 *   {{NAME:raw}}   the value of NAME as it is
 *   {{{{           two braces
 *
 * Nothing else: no conditions, no loops, and what was put in is not looked at again.  When only blanks
 * stand before {{code}} in its line, the further lines of the code get the same blanks, so that it can
 * stand in a block of Python; empty lines get none.  A code with texts over several lines wants its
 * place at the start of a line, where nothing is added. */
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
    const char *literal; /* style of the language's literals; NULL: it has none */
};

/* Where the code stands in the program. */
struct template_place {
    unsigned int code_line; /* from 1 */
    unsigned int code_lines;
    unsigned int code_indent; /* blanks before every line of it */
};

/* A name is a letter or _, then letters, digits, _ or -; "code" is taken. */
bool template_name_is_valid(const char *name);

/* Adds the program to `out`; a message has the line of the template.  On failure `out` is as before. */
int template_expand(const struct template_input *in, struct buf *out, struct template_place *ret,
                    sbr_error *err) must_check;

/* The templates that come with the programs: templates/LANGUAGE/NAME.EXTENSION.in. */
struct template
{
    const char *language;
    const char *name;
    const char *text;
};

/* Ends with a language of NULL; generated from templates/. */
extern const struct template template_table[];

/* NULL when there is none. */
const char *template_find(const char *language, const char *name);

#endif
