/* Bytes of a client: nothing outside them is read, what is taken is within them, and its fields read
 * well and have no character that ends a line. */
#include "base/fields.h"
#include "front/front_parse.h"
#include "fuzz.h"
#include "wire/front.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + !size); /* a block of exactly that size, for the sanitizer */
    size_t head = 0, body = 0, n = 0;
    struct field field;
    struct buf fields;
    const char *at;

    FUZZ_ASSERT(bytes);
    if (size)
        memcpy(bytes, data, size);
    buf_init(&fields, 4 * size + 64);
    if (front_parse(bytes, size, &fields, &head, &body) == FRONT_PARSED_WHOLE) {
        FUZZ_ASSERT(head + body <= size && body <= FRONT_SMALL_BODY && !fields.failed);
        for (at = fields.data; fields_next(&at, fields.data + fields.len, &field); n++)
            FUZZ_ASSERT(!strpbrk(field.name, "\r\n") && !strpbrk(field.value, "\r\n"));
        FUZZ_ASSERT(at == fields.data + fields.len && n >= 3);
    }
    buf_done(&fields);
    free(bytes);
    return 0;
}
