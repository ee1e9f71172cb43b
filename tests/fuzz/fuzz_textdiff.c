/* Two texts, apart at the first NUL: their diff, applied to the first, is the second; whatever is
 * in them, a terminal gets nothing that it would obey. */
#include "../unit/patch_model.h"
#include "base/text.h"
#include "fuzz.h"

static void check_diff(struct text before, struct text after, uint64_t work)
{
    struct buf hunks;
    size_t len = 0;
    char *again;

    buf_init(&hunks, SIZE_MAX / 2);
    FUZZ_ASSERT(textdiff(before, after, &work, &hunks) == 0);
    again = patch_apply(before, (struct text){ hunks.data, hunks.len }, &len);
    FUZZ_ASSERT(again && len == after.len && (len == 0 || !memcmp(again, after.data, len)));
    free(again);
    buf_done(&hunks);
}

static void check_shown(const struct buf *shown)
{
    FUZZ_ASSERT(!shown->failed);
    FUZZ_ASSERT(shown->len == 0 || text_is_utf8(shown->data, shown->len));
    for (size_t i = 0; i < shown->len; i++) {
        unsigned char c = (unsigned char)shown->data[i];

        FUZZ_ASSERT((c >= 0x20 && c != 0x7f) || c == '\t');
        FUZZ_ASSERT(c != 0xc2 || (unsigned char)shown->data[i + 1] >= 0xa0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    size_t first = strlen(text);
    struct text before = { text, first };
    struct text after = { text + first + (first < size), size - first - (first < size) };
    struct buf shown;

    check_diff(before, after, UINT64_MAX);
    check_diff(before, after, size % 64 + 1);
    buf_init(&shown, SIZE_MAX / 2);
    visible_put(&shown, text, size);
    check_shown(&shown);
    buf_done(&shown);
    buf_init(&shown, SIZE_MAX / 2);
    visible_put_name(&shown, text);
    check_shown(&shown);
    buf_done(&shown);
    free(text);
    return 0;
}
