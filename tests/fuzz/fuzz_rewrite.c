/* Requests and replies in any pieces: a value goes out only where a placeholder came, and never
 * comes back whole. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "secrets/rewrite.h"

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

/* The first byte says where a direction changes and how long the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rewrite rewrite;
    struct buf out, in;
    bool goes_on = true;

    prepare();
    rewrite_init(&rewrite, &rules, nothing, NULL);
    buf_init(&out, 1 << 20);
    buf_init(&in, 1 << 20);
    while (goes_on && size > 1) {
        size_t n = 1 + data[0] % 64;
        bool outward = data[0] < 128;

        n = n < size - 1 ? n : size - 1;
        goes_on = outward ? rewrite_out(&rewrite, (const char *)data + 1, n, &out)
                          : rewrite_in(&rewrite, (const char *)data + 1, n, &in);
        data += n + 1;
        size -= n + 1;
    }
    if (goes_on)
        (void)rewrite_in(&rewrite, "", 0, &in);
    if (in.len && memmem(in.data, in.len, VALUE, strlen(VALUE)))
        abort();
    rewrite_done(&rewrite);
    buf_done(&out);
    buf_done(&in);
    return 0;
}
