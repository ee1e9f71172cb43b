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

/* Memory for a library that reads what somebody else wrote, with a bound on all of it together. */
struct bounded_memory {
    size_t used, most;
};

/* As realloc, and as free for a size of 0.  NULL beyond the bound; the block is then as it was.
 * Blocks are malloc's: free() may take one when nobody counts any more. */
void *bounded_memory_resize(struct bounded_memory *memory, void *block, size_t size);

#endif
