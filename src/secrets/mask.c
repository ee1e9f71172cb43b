#include "secrets/mask.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret_memory.h"

#define PAIR(p) ((unsigned int)(unsigned char)(p)[0] << 8 | (unsigned char)(p)[1])

int mask_add(struct mask *mask, const char *find, const char *put, size_t len, unsigned int which)
{
    struct mask_text *grown;

    if (len < MASK_SHORTEST)
        return 0;
    for (size_t i = 0; i < mask->n; i++)
        if (mask->texts[i].len == len && !memcmp(mask->texts[i].find, find, len))
            return 0;
    grown = realloc(mask->texts, (mask->n + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    mask->texts = grown;
    grown[mask->n] = (struct mask_text){ .find = secret_memory_take(find, len),
                                         .put = put ? secret_memory_take(put, len) : NULL,
                                         .len = len,
                                         .which = which };
    if (!grown[mask->n].find || (put && !grown[mask->n].put)) {
        secret_memory_free(grown[mask->n].find);
        secret_memory_free(grown[mask->n].put);
        return -1;
    }
    mask->n++;
    return 0;
}

void mask_done(struct mask *mask)
{
    for (size_t i = 0; i < mask->n; i++) {
        secret_memory_free(mask->texts[i].find);
        secret_memory_free(mask->texts[i].put);
    }
    free(mask->texts);
    mask->texts = NULL;
    mask->n = 0;
}

void mask_prepare(struct mask *mask)
{
    mask->shortest = mask->n ? SIZE_MAX : 0;
    mask->longest = 0;
    memset(mask->begins, 0, sizeof(mask->begins));
    for (size_t i = 0; i < mask->n; i++) {
        const struct mask_text *text = &mask->texts[i];

        mask->begins[(unsigned char)text->find[0]] = true;
        if (text->len < mask->shortest)
            mask->shortest = text->len;
        if (text->len > mask->longest)
            mask->longest = text->len;
    }
    if (!mask->n)
        return;
    if (mask->shortest > UINT8_MAX)
        mask->shortest = UINT8_MAX;
    memset(mask->jump, (int)mask->shortest - 1, sizeof(mask->jump));
    for (size_t i = 0; i < mask->n; i++)
        for (size_t k = 0; k + 1 < mask->shortest; k++) {
            uint8_t *jump = &mask->jump[PAIR(mask->texts[i].find + k)];

            if (mask->shortest - 2 - k < *jump)
                *jump = (uint8_t)(mask->shortest - 2 - k);
        }
}

/* The length of a text that is whole at `data`; 0: none is. */
static size_t replace_at(const struct mask *mask, char *data, size_t left, mask_seen *seen,
                         void *context)
{
    for (size_t i = 0; i < mask->n; i++) {
        const struct mask_text *text = &mask->texts[i];

        if (text->len > left || memcmp(data, text->find, text->len) != 0)
            continue;
        if (seen)
            seen(context, text->which);
        if (text->put)
            memcpy(data, text->put, text->len);
        return text->len;
    }
    return 0;
}

static bool may_begin(const struct mask *mask, const char *data, size_t len)
{
    for (size_t i = 0; mask->begins[(unsigned char)data[0]] && i < mask->n; i++)
        if (mask->texts[i].len > len && !memcmp(mask->texts[i].find, data, len))
            return true;
    return false;
}

size_t mask_apply(const struct mask *mask, char *data, size_t len, mask_seen *seen, void *context)
{
    size_t start = 0, from;

    if (!mask->n)
        return 0;
    for (size_t at = 0; at + mask->shortest <= len;) {
        size_t jump = mask->jump[PAIR(data + at + mask->shortest - 2)], n;

        if (jump > 0) {
            at += jump;
            continue;
        }
        n = replace_at(mask, data + at, len - at, seen, context);
        at += n ? n : 1;
        if (n)
            start = at; /* what was put is not looked at again */
    }
    from = len - start < mask->longest ? start : len - mask->longest + 1;
    for (; from < len; from++)
        if (may_begin(mask, data + from, len - from))
            return len - from;
    return 0;
}
