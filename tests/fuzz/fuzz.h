/* What a fuzz target is.  The same file is linked with libFuzzer (fuzz_NAME) and with replay.c
 * (replay_NAME), so that every input that was ever saved is also a plain test. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that must hold for every input. */
#define FUZZ_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* The input as text: up to its first NUL, in a block of exactly that size. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_ASSERT(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
