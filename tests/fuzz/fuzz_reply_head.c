/* The head of a reply with any status and any fields: one head, whatever was in them. */
#include <stdlib.h>
#include <string.h>

#include "base/reply_head.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reply_head head = { .length = 7 };
    struct buf text;

    if (size < 2)
        return 0;
    head.status = (unsigned int)(data[0] << 8 | data[1]) % 700;
    head.fields = (const char *)data + 2;
    head.fields_len = size - 2;
    buf_init(&text, 1 << 20);
    if (reply_head_add(&head, &text)) {
        const char *end = memmem(text.data, text.len, "\r\n\r\n", 4);

        if (!end || end + 4 != text.data + text.len)
            abort();
        if (!reply_head_has_body(head.status) &&
            memmem(text.data, text.len, "\r\nContent-Length: 7", 19))
            abort();
    }
    buf_done(&text);
    return 0;
}
