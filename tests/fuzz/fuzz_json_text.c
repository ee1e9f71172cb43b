/* Foreign JSON that is handed on as text, next to jansson's reader. */
#include "base/json_text.h"
#include "fuzz.h"

static const struct json_bounds most = { .bytes = 65536, .values = 2000, .depth = 40 };

/* What fits is one line, and the same to jansson as the text itself. */
static void check_line(const struct buf *out, const char *text, size_t size)
{
    json_t *before = json_loadb(text, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    json_t *after = json_loadb(out->data, out->len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);

    FUZZ_ASSERT(before && after && json_equal(before, after));
    FUZZ_ASSERT(out->len <= size && !memchr(out->data, '\n', out->len));
    json_decref(before);
    json_decref(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t values = 0;
    sbr_error err;
    struct buf out;
    json_t *tree;

    buf_init(&out, 65536);
    buf_add_text(&out, "[");
    switch (json_text_add(&out, text, size, &most, &values)) {
    case JSON_TEXT_FITS:
        buf_drop(&out, 1);
        check_line(&out, text, size);
        FUZZ_ASSERT(values <= most.values);
        FUZZ_ASSERT(json_read_scan(text, size, &most, "", &err) == 0);
        break;
    case JSON_TEXT_TOO_MUCH:
        FUZZ_ASSERT(out.len == 1 && !out.failed);
        break;
    case JSON_TEXT_WRONG:
        FUZZ_ASSERT(out.len == 1 && !out.failed);
        tree = json_loadb(text, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        FUZZ_ASSERT(!tree || memchr(text, '\0', size)); /* jansson takes a NUL as the end */
        json_decref(tree);
        break;
    }
    buf_done(&out);
    return 0;
}
