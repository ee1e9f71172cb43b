/* What is kept for clients after its end is one pool: a tenant's flood displaces its own results,
 * and nobody else's. */
#ifndef HTTP_KEPT_SHARE_H
#define HTTP_KEPT_SHARE_H

#include "base/list.h"

#define KEPT_MAX 4096                  /* of one pool, of all tenants */
#define KEPT_BYTES ((size_t)256 << 20) /* the same                    */

struct kept {
    const char *tenant; /* NULL: it cannot be forgotten now, and does not count */
    size_t bytes;
};

/* A list of what is kept, oldest first. */
struct kept_pool {
    struct link *list;
    struct kept (*look)(const struct link *at);
    void (*forget)(struct link *at, void *context);
    void *context; /* of forget */
};

/* While the pool has too much, forgets the oldest of the tenant that holds most. */
void kept_share_trim(const struct kept_pool *pool);

#endif
