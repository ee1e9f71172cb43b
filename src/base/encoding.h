/* Base64 and hexadecimal text of bytes; random identifiers. */
#ifndef BASE_ENCODING_H
#define BASE_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

/* The length of so many bytes as text. */
#define ENCODING_BASE64_LEN(len) (((len) + 2) / 3 * 4)
/* Writes that many characters, without a NUL; returns their end. */
char *encoding_put_base64(char *out, const void *data, size_t len);
/* The caller frees it; NULL without memory. */
char *encoding_to_base64(const void *data, size_t len);
/* Strict: padding required, nothing else in between.  0, or -1 when malformed or out of memory. */
int encoding_from_base64(const char *text, char **ret, size_t *ret_len);

#define ENCODING_ID_SIZE 33 /* 128 random bits in hexadecimal, and NUL */
/* 0, or -1 with errno. */
int encoding_random_id(char id[ENCODING_ID_SIZE]);

/* Exactly `len` digits and letters a to f: a name that only we give. */
bool encoding_is_hex(const char *text, size_t len);

#endif
