/* SHA-1, only where a format of others asks for it: the sum at the end of git's index.  Nothing is
 * trusted because of it. */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H

#include <stddef.h>

#define SHA1_SIZE 20

void sha1(const void *data, size_t len, unsigned char digest[SHA1_SIZE]);

#endif
