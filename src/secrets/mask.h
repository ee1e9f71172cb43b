/* Finds texts in a stream and puts others of the same length in their place.  Pure.
 *
 * By Wu and Manber: a table says for each pair of bytes how far the next look may jump, so long
 * texts are found in fewer looks than there are bytes. */
#ifndef SECRETS_MASK_H
#define SECRETS_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MASK_SHORTEST 6 /* a shorter text is not looked for */

struct mask_text {
    char *find, *put; /* secret memory; `put` NULL: it stays, and is only reported */
    size_t len;
    unsigned int which; /* for mask_seen */
};

typedef void mask_seen(void *context, unsigned int which);

struct mask {
    struct mask_text *texts;
    size_t n;
    size_t shortest, longest;
    bool begins[256];      /* some text begins with this byte */
    uint8_t jump[1 << 16]; /* by a pair of bytes */
};

/* Adds a text; shorter ones than MASK_SHORTEST are left out.  0, or -1 without memory. */
int mask_add(struct mask *mask, const char *find, const char *put, size_t len, unsigned int which);
/* Adds a value in every form that a peer is likely to give back: as it is, in base64 wherever it
 * begins, with escapes of URLs and of JSON, in hexadecimal.  `put` is as long as `find`, with the
 * same punctuation, or NULL: each form is replaced by 'x'. */
int mask_add_forms(struct mask *mask, const char *find, const char *put, size_t len,
                   unsigned int which);
/* The forms of an address: with '%' and hexadecimal digits. */
int mask_add_escapes(struct mask *mask, const char *find, const char *put, size_t len,
                     unsigned int which);
/* After the last text. */
void mask_prepare(struct mask *mask);
/* Replaces in place.  Returns how many bytes at the end may be the beginning of a text: the caller
 * gives them again, with what follows.  `seen` may be NULL. */
size_t mask_apply(const struct mask *mask, char *data, size_t len, mask_seen *seen, void *context);
/* Wipes the texts. */
void mask_done(struct mask *mask);

#endif
