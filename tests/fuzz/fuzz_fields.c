/* Fields of a front that was taken over: nothing outside the bytes is read, and what is read is
 * what stands there. */
#include "base/fields.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + !size); /* a block of exactly that size, for the sanitizer */
    const char *at = bytes;
    struct field field;
    struct buf again;

    FUZZ_ASSERT(bytes);
    if (size)
        memcpy(bytes, data, size);
    buf_init(&again, size + 1);
    while (fields_next(&at, bytes + size, &field))
        FUZZ_ASSERT(fields_add(&again, field.kind, field.name, field.value) == 0);
    FUZZ_ASSERT(again.len == (size_t)(at - bytes));
    FUZZ_ASSERT(!again.len || !memcmp(again.data, bytes, again.len));
    buf_done(&again);
    free(bytes);
    return 0;
}
