#include "changes/textdiff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static size_t count_lines(struct text text)
{
    size_t n = 0;

    for (size_t at = 0; at < text.len; n++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);

        at = end ? (size_t)(end - text.data) + 1 : text.len;
    }
    return n;
}

static int split(struct textdiff_lines *lines, struct text text)
{
    size_t at = 0;

    *lines = (struct textdiff_lines){ .text = text, .n = count_lines(text) };
    if (lines->n >= UINT32_MAX / 4)
        return -1;
    lines->starts = calloc(lines->n + 1, sizeof(lines->starts[0]));
    lines->ids = calloc(lines->n + 1, sizeof(lines->ids[0]));
    lines->changed = calloc(lines->n + 1, sizeof(lines->changed[0]));
    if (!lines->starts || !lines->ids || !lines->changed)
        return -1;
    for (size_t i = 0; i < lines->n; i++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);

        lines->starts[i] = at;
        at = end ? (size_t)(end - text.data) + 1 : text.len;
    }
    lines->starts[lines->n] = text.len;
    return 0;
}

/* A new secret each time: an untrusted program cannot make its lines collide. */
struct secret {
    uint64_t start, factor;
};

static struct secret new_secret(void)
{
    struct secret secret = { 0 };

    if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
        secret.start = (uint64_t)(uintptr_t)&secret;
    secret.factor |= 1;
    if (secret.factor == 1)
        secret.factor = 0x9e3779b97f4a7c15ULL;
    return secret;
}

static uint64_t mix(uint64_t value, uint64_t factor)
{
    unsigned __int128 product = (unsigned __int128)value * factor;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(const struct secret *secret, const char *data, size_t len)
{
    uint64_t h = mix(secret->start ^ len, secret->factor), word;

    for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        h = mix(h ^ word, secret->factor) + secret->start;
    }
    word = 0;
    memcpy(&word, data, len);
    return mix(h ^ word, secret->factor);
}

struct slot {
    uint64_t hash;
    const char *data;
    size_t len;
    uint32_t id; /* 0: free */
};

struct table {
    struct slot *slots;
    size_t mask;
    struct secret secret;
    uint32_t last_id;
};

static void number_lines(struct table *table, struct textdiff_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        const char *data = lines->text.data + lines->starts[i];
        size_t len = lines->starts[i + 1] - lines->starts[i];
        uint64_t h = hash(&table->secret, data, len);
        struct slot *slot = &table->slots[h & table->mask];

        while (slot->id &&
               (slot->hash != h || slot->len != len || memcmp(slot->data, data, len) != 0))
            slot = slot == &table->slots[table->mask] ? table->slots : slot + 1;
        if (!slot->id)
            *slot = (struct slot){ .hash = h, .data = data, .len = len, .id = ++table->last_id };
        lines->ids[i] = slot->id;
    }
}

int textdiff_lines_init(struct textdiff_lines *a, struct textdiff_lines *b, struct text before,
                        struct text after)
{
    struct table table = { .secret = new_secret() };
    size_t size = 16;

    *a = *b = (struct textdiff_lines){ 0 };
    if (split(a, before) < 0 || split(b, after) < 0)
        return -1;
    while (size < 2 * (a->n + b->n))
        size *= 2;
    table.mask = size - 1;
    table.slots = calloc(size, sizeof(table.slots[0]));
    if (!table.slots)
        return -1;
    number_lines(&table, a);
    number_lines(&table, b);
    free(table.slots);
    return 0;
}

void textdiff_lines_done(struct textdiff_lines *lines)
{
    free(lines->starts);
    free(lines->ids);
    free(lines->changed);
    *lines = (struct textdiff_lines){ 0 };
}
