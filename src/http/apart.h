/* Work on texts that may be large: in a thread when they are, so that no other client waits. */
#ifndef HTTP_APART_H
#define HTTP_APART_H

#include "http/exchange.h"

struct apart {
    /* In a thread, or at once: looks at nothing that the loop changes. */
    void (*work)(struct apart *a);
    /* On the loop, behind it; frees `a`.  NULL for `x`: the client is gone, or has its reply. */
    void (*then)(struct apart *a, struct exchange *x);
};

void apart_do(struct exchange *x, bool large, struct apart *a);

#endif
