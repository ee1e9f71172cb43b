#include "base/secret_memory.h"

#include <malloc.h>
#include <stdlib.h>

void *bounded_memory_resize(struct bounded_memory *memory, void *block, size_t size)
{
    size_t others = memory->used - (block ? malloc_usable_size(block) : 0);
    void *made = NULL;

    if (!size) {
        free(block);
        memory->used = others;
        return NULL;
    }
    if (size <= memory->most && others + size <= memory->most)
        made = realloc(block, size);
    if (made)
        memory->used = others + malloc_usable_size(made);
    return made;
}
