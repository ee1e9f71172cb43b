/* SHA-256, to name contents: keys of the store and digests of its trees.  Portable and plain, not
 * in constant time (docs/decisions/0011-own-sha256.md). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32
#define SHA256_HEX_SIZE 65 /* in hexadecimal, and NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t len; /* bytes added so far */
    unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* The state is used up: sha256_init before the next use. */
void sha256_finish(struct sha256 *s, unsigned char digest[SHA256_SIZE]);
void sha256_finish_hex(struct sha256 *s, char hex[SHA256_HEX_SIZE]);

/* Fields that cannot run into one another: eight bytes of length or value, lowest first, and then
 * the text.  NULL is not the empty text. */
void sha256_add_text(struct sha256 *s, const char *text);
void sha256_add_u64(struct sha256 *s, uint64_t value);

/* All at once. */
void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX_SIZE]);

/* SHA-1, only where a format of others asks for it: the sum at the end of git's index.  Nothing is
 * trusted because of it. */
#define SHA1_SIZE 20

void sha1(const void *data, size_t len, unsigned char digest[SHA1_SIZE]);

#endif
