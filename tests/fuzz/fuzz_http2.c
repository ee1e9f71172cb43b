/* Both peers in any pieces: streams stay bounded, and a value in a body never reaches the program. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "secrets/http2.h"

#define VALUE "sk-Zk3v9QpL7xWn2TbR"
#define PUT "sk-Aa1b2CdE3fGh4IjK"

static struct rewrite_rules rules = { .name = "a.example", .port = 443, .tls = true };

static void nothing(void *context, enum rewrite_event event, unsigned int which)
{
    (void)context;
    (void)event;
    (void)which;
}

static void prepare(void)
{
    size_t len = strlen(VALUE);

    if (rules.headers.n)
        return;
    if (mask_add(&rules.headers, PUT, VALUE, len, 0) < 0 ||
        mask_add(&rules.body, PUT, VALUE, len, 0) < 0 ||
        mask_add_forms(&rules.replies, VALUE, PUT, len, 0) < 0 ||
        mask_add(&rules.watched, PUT, NULL, len, 0) < 0)
        abort();
    mask_prepare(&rules.headers);
    mask_prepare(&rules.body);
    mask_prepare(&rules.replies);
    mask_prepare(&rules.watched);
}

static bool take(struct http2 *http2, enum http2_end to)
{
    struct buf out;
    bool goes_on;

    buf_init(&out, 1 << 20);
    goes_on = http2_take(http2, to, &out);
    if (to == HTTP2_PROGRAM && out.len && memmem(out.data, out.len, VALUE, strlen(VALUE)))
        abort();
    buf_done(&out);
    return goes_on;
}

/* The first byte says who sends and how much. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rewrite rewrite;
    struct http2 *http2;
    bool goes_on = true;

    prepare();
    rewrite_init(&rewrite, &rules, nothing, NULL);
    http2 = http2_new(&rewrite);
    if (!http2)
        abort();
    while (goes_on && size > 1) {
        size_t n = 1 + data[0] % 128;
        enum http2_end from = data[0] < 128 ? HTTP2_PROGRAM : HTTP2_HOST;

        n = n < size - 1 ? n : size - 1;
        goes_on = http2_feed(http2, from, (const char *)data + 1, n) && take(http2, HTTP2_HOST) &&
                  take(http2, HTTP2_PROGRAM);
        if (http2->n_streams > 2 * HTTP2_MAX_STREAMS)
            abort();
        if (http2_held(http2, HTTP2_PROGRAM) > size)
            http2_release(http2, HTTP2_PROGRAM);
        data += n + 1;
        size -= n + 1;
    }
    http2_free(http2);
    rewrite_done(&rewrite);
    return 0;
}
