/* Base64 and hexadecimal text of bytes; random identifiers. */
#ifndef BASE_ENCODE_H
#define BASE_ENCODE_H

#include <stddef.h>

/* The caller frees it; NULL without memory. */
char *encode_base64(const void *data, size_t len);
/* Strict: padding required, nothing else in between.  0, or -1 when malformed or out of memory. */
int decode_base64(const char *text, char **ret, size_t *ret_len);

#define ENCODE_ID_SIZE 33 /* 128 random bits in hexadecimal, and NUL */
/* 0, or -1 with errno. */
int encode_random_id(char id[ENCODE_ID_SIZE]);

#endif
