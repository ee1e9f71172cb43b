/* Runs that are over are kept while there is room. */
#ifndef HTTP_EXECUTION_KEPT_H
#define HTTP_EXECUTION_KEPT_H

#include <stddef.h>

struct server;

/* All executions, and how many there may be until the next look at them. */
struct server_kept {
    size_t n, bytes;
    size_t most_n, most_bytes;
};

/* Where there are too many, forgets the oldest of the tenant that holds most.  Only callbacks of
 * the loop call it, because whoever goes through the executions must not lose one meanwhile. */
void execution_kept_trim(struct server *server);
/* The same, unless too few have come since the last time. */
void execution_kept_look(struct server *server);

#endif
