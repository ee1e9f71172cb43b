/* Memory for credentials: not swapped where the limits allow it, in no core file, zeroes in a child
 * that is forked, wiped at its end. */
#ifndef BASE_SECRET_MEMORY_H
#define BASE_SECRET_MEMORY_H

#include <stddef.h>

/* Zeroes, and one behind them; NULL without memory. */
char *secret_memory_new(size_t len);
/* A copy with a NUL behind it; NULL without memory. */
char *secret_memory_take(const void *data, size_t len);
/* Wipes and frees it; NULL is nothing. */
void secret_memory_free(char *text);

#endif
