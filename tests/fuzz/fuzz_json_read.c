/* No text becomes a tree with more values, or deeper, than was counted before it was read. */
#include "base/json_read.h"
#include "fuzz.h"

static const struct json_bounds small = { .bytes = 4096, .values = 64, .depth = 8 };

static size_t count(const json_t *value, unsigned int *depth)
{
    size_t n = 1, i;
    unsigned int below = 0, deepest = 0;
    const char *key;
    json_t *one;

    if (json_is_array(value))
        json_array_foreach(value, i, one) {
            n += count(one, &below);
            deepest = below > deepest ? below : deepest;
        }
    else if (json_is_object(value))
        json_object_foreach((json_t *)value, key, one) {
            n += count(one, &below);
            deepest = below > deepest ? below : deepest;
        }
    *depth = deepest + (json_is_array(value) || json_is_object(value));
    return n;
}

static int see(void *context, const json_t *element, sbr_error *err)
{
    unsigned int depth;

    (void)err;
    FUZZ_ASSERT(count(element, &depth) <= small.values && depth <= small.depth);
    json_array_append(context, (json_t *)element);
    return 0;
}

/* One after the other, the elements are those of the whole tree. */
static void check_each(const char *text, size_t len, const json_t *whole)
{
    json_t *list = json_array();
    const struct json_each each = { "a", &small, see, list, "an element" };
    sbr_error err = { 0 };
    int r = json_read_each(text, len, &each, &err);

    FUZZ_ASSERT(r == 0 || err.message[0]);
    if (json_is_object(whole)) {
        const json_t *wanted = json_object_get(whole, "a");

        json_t *alone = json_read_member(text, len, "a");

        FUZZ_ASSERT(r == 0 && (!wanted || json_equal(wanted, alone)));
        json_decref(alone);
        if (json_is_array(wanted))
            FUZZ_ASSERT(json_equal(wanted, list));
        else
            FUZZ_ASSERT(!json_array_size(list));
    }
    json_decref(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES;
    char *text = fuzz_text(data, size);
    sbr_error err = { 0 };
    json_t *tree = json_read(text, size, &small, flags, "the text", &err);
    unsigned int depth;

    if (tree) {
        FUZZ_ASSERT(count(tree, &depth) <= small.values && depth <= small.depth);
        FUZZ_ASSERT(json_read_memory(text, size) >= size + 256 * count(tree, &depth));
    } else {
        FUZZ_ASSERT(err.code == SBR_E_INVALID && err.message[0]);
    }
    /* A key may be written with escapes, which are not looked for. */
    if (!memchr(text, '\\', size))
        check_each(text, size, tree);
    json_decref(tree);
    free(text);
    return 0;
}
