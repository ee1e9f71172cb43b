/* Which modules of a program's own source deserve a look before it is run: those that start
 * programs, open connections or leave the language.  Information for people, no defence: a program
 * can hide what it imports, and the sandbox holds either way. */
#ifndef EXPLAIN_SENSITIVE_H
#define EXPLAIN_SENSITIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/string_list.h"

#define SENSITIVE_LOOK_MAX (1u << 20) /* bytes of a file that are looked at */

/* `literal` is that of the language (plan/template.h).  Adds one bit for each module that the text
 * imports by a plain name; 0 for languages without a list. */
uint64_t sensitive_find(const char *literal, const char *text, size_t len);
/* The names of the bits. */
int sensitive_name(const char *literal, uint64_t found, struct string_list *ret, sbr_error *err)
    must_check;

#endif
