/* Where the lines that a user typed at a prompt are kept: one file for each language. */
#ifndef LIB_PROMPT_HISTORY_H
#define LIB_PROMPT_HISTORY_H

#include <stddef.h>

#include "base/err.h"

/* Makes its directory, which only the user can enter. */
int prompt_history_path(const char *language, char *buf, size_t size, sbr_error *err) must_check;

#endif
