/* Bodies of forms, as dialects take them: the first line is the type, the rest the body. */
#include "dialect/multipart.h"
#include "fuzz.h"

#define PARTS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t type_len = end ? (size_t)(end - data) : size, len = end ? size - type_len - 1 : 0;
    char *type = fuzz_text(data, type_len), *body = malloc(len ? len : 1);
    struct multipart_part parts[PARTS];
    int n;

    FUZZ_ASSERT(body);
    if (len)
        memcpy(body, end + 1, len); /* a block of exactly this size: reading past it is seen */
    n = multipart_read(type, body, len, parts, PARTS);
    FUZZ_ASSERT(n >= -1 && n <= PARTS);
    for (int i = 0; i < n; i++) {
        FUZZ_ASSERT(parts[i].name[0] && strlen(parts[i].name) < sizeof(parts[i].name));
        FUZZ_ASSERT(strlen(parts[i].file_name) < sizeof(parts[i].file_name));
        FUZZ_ASSERT(parts[i].data >= body && parts[i].data + parts[i].len <= body + len);
    }
    free(type);
    free(body);
    return 0;
}
