/* The configuration of package managers: hosts that it opens, and what is left of it without
 * credentials. */
#include "fuzz.h"
#include "plan/language.h"
#include "toolchain/registries.h"

#define MAX_TEXT (1 << 20)

static void check_rules(const char *text)
{
    const struct language *language = language_find("python");
    struct network network = { .mode = NETWORK_ALLOW };
    sbr_error err;
    int r = registries_find(&language->install, text, &network, &err);

    FUZZ_ASSERT(r == 0 || (r == err.code && err.message[0]));
    for (size_t i = 0; i < network.n_rules; i++)
        FUZZ_ASSERT(network.rules[i].port != 0 && network.rules[i].anywhere);
    network_done(&network);
}

/* Nothing is added; what was taken out stays out; no password of an address and no key is left. */
static void check_plain(const char *data, size_t size)
{
    struct buf once, twice;

    buf_init(&once, MAX_TEXT);
    buf_init(&twice, MAX_TEXT);
    registries_add_plain(&once, data, size);
    FUZZ_ASSERT(!once.failed && once.len <= size);
    registries_add_plain(&twice, once.data ? once.data : "", once.len);
    FUZZ_ASSERT(!twice.failed && twice.len <= once.len);
    if (once.len)
        FUZZ_ASSERT(!memmem(once.data, once.len, "-----BEGIN P", 12) ||
                    memmem(data, size, "-----END ", 9));
    buf_done(&once);
    buf_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = fuzz_text(data, size);
    struct buf text;

    if (size > MAX_TEXT / 4) {
        free(exact);
        return 0;
    }
    buf_init(&text, MAX_TEXT);
    registries_add_text(&text, exact, size);
    FUZZ_ASSERT(!text.failed);
    FUZZ_ASSERT(!text.data || strlen(text.data) == text.len);
    check_rules(text.data ? text.data : "");
    check_plain(exact, size);
    buf_done(&text);
    free(exact);
    return 0;
}
