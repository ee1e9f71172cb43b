#include "http/response_text.h"

#include <stdlib.h>
#include <string.h>

enum form { PLAIN, ESCAPED, BASE64 };

struct response_part {
    const char *data;
    size_t len;
    enum form form;
};

struct response_text *response_text_of_bytes(char *bytes, size_t len)
{
    struct response_text *text = bytes ? malloc(sizeof(*text)) : NULL;

    if (text)
        *text = (struct response_text){ .bytes = bytes, .len = len, .users = 1 };
    else
        free(bytes);
    return text;
}

struct response_text *response_text_of(char *text)
{
    return response_text_of_bytes(text, text ? strlen(text) : 0);
}

static void add_part(struct response_text *text, const char *data, size_t len, enum form form)
{
    text->parts[text->n_parts++] = (struct response_part){ data, len, form };
    text->len += form == PLAIN     ? len
                 : form == ESCAPED ? jsonw_escaped_len(data, len)
                                   : ENCODING_BASE64_LEN(len);
}

/* The names stand in the order of their numbers, because nothing sorts what is written. */
static void split(struct response_text *text, const struct jsonw_apart *apart)
{
    const size_t mark_len = strlen(apart->mark);
    const char *from = text->skeleton;

    for (size_t i = 0; i < apart->n; i++) {
        const struct jsonw_long *stream = &apart->at[i];
        const char *name = strstr(from, apart->mark);

        if (!name)
            break;
        add_part(text, from, (size_t)(name - from), PLAIN);
        add_part(text, stream->data, stream->len, stream->base64 ? BASE64 : ESCAPED);
        from = name + mark_len + JSONW_MARK_DIGITS;
    }
    add_part(text, from, strlen(from), PLAIN);
}

struct response_text *response_text_of_apart(char *skeleton, const struct jsonw_apart *apart,
                                             void *owner, void (*free_owner)(void *owner))
{
    struct response_text *text = skeleton ? calloc(1, sizeof(*text)) : NULL;

    if (text)
        text->parts = malloc((2 * apart->n + 1) * sizeof(*text->parts));
    if (!text || !text->parts) {
        free(text);
        free(skeleton);
        return NULL;
    }
    text->users = 1;
    text->skeleton = skeleton;
    text->owner = owner;
    text->free_owner = free_owner;
    split(text, apart);
    return text;
}

struct response_text *response_text_share(struct response_text *text)
{
    text->users++;
    return text;
}

void response_text_drop(struct response_text *text)
{
    if (!text || --text->users)
        return;
    free(text->bytes);
    free(text->parts);
    free(text->skeleton);
    if (text->owner)
        text->free_owner(text->owner);
    free(text);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The next bytes of a part; *at goes on by those that they were made of. */
static size_t read_part(const struct response_part *part, size_t *at, char *to, size_t max)
{
    const char *from = part->data + *at;
    size_t left = part->len - *at, n;

    switch (part->form) {
    case PLAIN:
        n = min_size(left, max);
        memcpy(to, from, n);
        *at += n;
        return n;
    case ESCAPED:
        n = min_size(left, max / 6);
        *at += n;
        return (size_t)(jsonw_escape(to, from, n) - to);
    case BASE64:
        n = min_size(left, max / 4 * 3);
        *at += n;
        return (size_t)(encoding_put_base64(to, from, n) - to);
    }
    return 0;
}

size_t response_text_read(const struct response_text *text, struct response_place *place, char *to,
                          size_t max)
{
    const struct response_part whole = { text->bytes, text->len, PLAIN };
    const struct response_part *parts = text->bytes ? &whole : text->parts;
    size_t n = 0, n_parts = text->bytes ? 1 : text->n_parts;

    while (place->part < n_parts) {
        const struct response_part *part = &parts[place->part];
        size_t before = place->at;

        n += read_part(part, &place->at, to + n, max - n);
        if (place->at == part->len) {
            place->part++;
            place->at = 0;
        } else if (place->at == before) { /* there is no room for the next character */
            break;
        }
    }
    place->done += n;
    return n;
}

void response_text_copy(const struct response_text *text, char *to)
{
    struct response_place place = { 0 };

    while (response_text_read(text, &place, to + place.done,
                              text->len + RESPONSE_TEXT_ROOM - place.done) > 0)
        ;
}
