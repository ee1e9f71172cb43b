/* What a program prints: laid out, it is the same document, and the layout of a layout is the same. */
#include "cli/json_layout.h"
#include "fuzz.h"

#define MOST ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum json_layout first = json_layout((const char *)data, size, false, NULL);
    struct buf once, twice;

    buf_init(&once, MOST);
    buf_init(&twice, MOST);
    FUZZ_ASSERT(json_layout((const char *)data, size, false, &once) == first);
    if (first == JSON_LAYOUT_WHOLE && !once.failed) {
        FUZZ_ASSERT(json_layout(once.data, once.len, false, &twice) == JSON_LAYOUT_WHOLE);
        FUZZ_ASSERT(once.len == twice.len && !memcmp(once.data, twice.data, once.len));
    }
    /* The begin of what may become a document may become one. */
    for (size_t len = size > 64 ? size - 64 : 0; first != JSON_LAYOUT_NONE && len < size; len++)
        FUZZ_ASSERT(json_layout((const char *)data, len, false, NULL) != JSON_LAYOUT_NONE);
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
