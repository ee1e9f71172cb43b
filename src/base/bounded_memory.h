/* Memory for a library that reads what somebody else wrote, with a bound on all of it together. */
#ifndef BASE_BOUNDED_MEMORY_H
#define BASE_BOUNDED_MEMORY_H

#include <stddef.h>

struct bounded_memory {
    size_t used, most;
};

/* As realloc, and as free for a size of 0.  NULL beyond the bound; the block is then as it was.
 * Blocks are malloc's: free() may take one when nobody counts any more. */
void *bounded_memory_resize(struct bounded_memory *memory, void *block, size_t size);

#endif
