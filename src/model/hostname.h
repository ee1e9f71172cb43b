/* Host names are made canonical once; comparing, resolving and showing them use the same bytes. */
#ifndef MODEL_HOSTNAME_H
#define MODEL_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTNAME_SIZE 254 /* DNS carries at most 253 characters; one for the NUL */

/* Makes letters lower case and removes one trailing dot.  Labels have 1 to 63 letters, digits, '-'
 * and '_'.  False for everything else: empty, too long, NUL and control characters, not ASCII, and
 * names that a C library would read as an address (the last label is a number, also in
 * hexadecimal). */
bool hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_SIZE]);

#endif
