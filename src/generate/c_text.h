/* Writes C: string literals, and the file that contains them. */
#ifndef GENERATE_C_TEXT_H
#define GENERATE_C_TEXT_H
#include <stdio.h>

#include "base/err.h"

/* A quoted literal; NULL for NULL. */
void c_text_string(FILE *out, const char *text);

/* Replaces the file at `path`. */
int c_text_save(const char *path, const char *text, size_t len, sbr_error *err) must_check;

#endif
