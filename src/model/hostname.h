/* Names of hosts, made canonical once: whatever is compared, resolved or shown later is these very
 * bytes. */
#ifndef MODEL_HOSTNAME_H
#define MODEL_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTNAME_SIZE 254 /* 253 characters are the most that DNS carries, and a NUL */

/* Lower case, letters, digits, '-' and '_' in labels of 1 to 63, one trailing dot removed.  False
 * for everything else: empty, too long, NUL and control characters, not ASCII, and whatever a C
 * library would take for an address in disguise (the last label is a number, be it hexadecimal). */
bool hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_SIZE]);

#endif
