/* Files that the program was refused, by its last lines on stderr, compared with the plan.  Pure.
 * There is no other source: the kernel refuses a path without reporting which.  The program may
 * forge these lines, so each rule begins with "stderr: ", they decide nothing, and the host is not
 * asked whether a path exists there. */
#ifndef EXPLAIN_DENIAL_TEXT_H
#define EXPLAIN_DENIAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/string_list.h"
#include "model/denial.h"
#include "plan/plan.h"

#define DENIAL_TEXT_BYTES (64 * 1024) /* of the end are examined */
#define DENIAL_TEXT_MAX 16

/* For a run that failed.  `text` may be NULL when `len` is 0. */
void denial_text(const struct plan *plan, const char *text, size_t len, struct denials *ret);

/* A command that is not inside because the request allows others only: its name in a message. */

/* `line` is one line of stderr, without its end. */
void denial_command_note(const struct plan *plan, const char *line, size_t len,
                         struct denials *ret);

/* Which modules of a program's own source deserve a look before it is run: those that start
 * programs, open connections or leave the language.  Information for people, no defence: a program
 * can hide what it imports, and the sandbox holds either way. */
#define SENSITIVE_LOOK_MAX (1u << 20) /* bytes of a file that are looked at */

/* `literal` is that of the language (plan/template.h).  Adds one bit for each module that the text
 * imports by a plain name; 0 for languages without a list. */
uint64_t sensitive_find(const char *literal, const char *text, size_t len);
/* The names of the bits. */
int sensitive_name(const char *literal, uint64_t found, struct string_list *ret, sbr_error *err)
    must_check;

#endif
