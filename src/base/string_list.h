/* A list of texts that owns them. */
#ifndef BASE_STRING_LIST_H
#define BASE_STRING_LIST_H

#include <stddef.h>

#include "base/err.h"

struct string_list {
    char **items; /* NULL-terminated after the first addition; NULL when empty */
    size_t n;
};

/* Adds a copy; the only error is a lack of memory. */
int string_list_add(struct string_list *list, const char *text, sbr_error *err);
void string_list_done(struct string_list *list);

#endif
