/* Amounts in as few characters as a column of a list has. */
#ifndef CLI_AMOUNTS_H
#define CLI_AMOUNTS_H

#include <stddef.h>
#include <stdint.h>

/* One word: 512, 12K, 4.2M. */
void amount_of_bytes(uint64_t bytes, char *buf, size_t size);
/* How long ago: 30s, 12m, 5h, 3d. */
void amount_of_idle(int64_t used, char *buf, size_t size);
/* "1 entry", "2 entries" */
void amount_of(size_t n, const char *one, const char *many, char *buf, size_t size);

#endif
