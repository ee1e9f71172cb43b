/* Where the cells that a user typed at a prompt are kept: one file for each language, in a
 * directory that only the user can enter. */
#ifndef LIB_PROMPT_HISTORY_H
#define LIB_PROMPT_HISTORY_H

#include <stddef.h>

#include "base/err.h"

/* All of it, which the caller frees; empty when there is none yet. */
int prompt_history_read(const char *language, char **ret, size_t *ret_len, sbr_error *err)
    must_check;
/* Adds to its end, with one write: several prompts may do so at the same time. */
int prompt_history_add(const char *language, const char *text, size_t len, sbr_error *err)
    must_check;
/* In place of all of it. */
int prompt_history_replace(const char *language, const char *text, size_t len, sbr_error *err)
    must_check;

#endif
