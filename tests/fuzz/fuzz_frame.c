/* Frames of a session's kernel. */
#include "fuzz.h"
#include "session/frame.h"

/* What is read can be written, and is read again as the same. */
static void check(const struct frame *frame, const uint8_t *data, size_t used)
{
    struct frame again;
    struct buf out;
    size_t len = 0;

    FUZZ_ASSERT(frame->len <= FRAME_PAYLOAD_MAX && used <= FRAME_HEADER_MAX + frame->len);
    FUZZ_ASSERT(frame->payload + frame->len == (const char *)data + used);
    buf_init(&out, used + FRAME_HEADER_MAX);
    FUZZ_ASSERT(
        frame_put(&out, frame->word, frame->number, frame->arg, frame->payload, frame->len) == 0);
    FUZZ_ASSERT(frame_read(out.data, out.len, &again, &len) == FRAME_WHOLE && len == out.len);
    FUZZ_ASSERT(again.number == frame->number && again.len == frame->len &&
                !strcmp(again.word, frame->word) && !strcmp(again.arg, frame->arg) &&
                !memcmp(again.payload, frame->payload, frame->len));
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame frame;
    size_t used = 0;
    enum frame_found found = frame_read((const char *)data, size, &frame, &used);

    FUZZ_ASSERT(found != FRAME_PARTIAL || size < FRAME_HEADER_MAX + FRAME_PAYLOAD_MAX);
    if (found == FRAME_WHOLE)
        check(&frame, data, used);
    /* More bytes never turn a whole frame into another one. */
    for (size_t len = 0; found == FRAME_WHOLE && len < used && len < 300; len++)
        FUZZ_ASSERT(frame_read((const char *)data, len, &frame, &used) == FRAME_PARTIAL);
    return 0;
}
