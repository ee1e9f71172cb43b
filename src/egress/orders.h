/* What a person decided, as the supervisor sends it: see wire/egress.h. */
#ifndef EGRESS_ORDERS_H
#define EGRESS_ORDERS_H

#include "egress/egress_internal.h"

/* Takes one message, and answers it.  What waits is decided anew. */
void orders_obey(struct egress *egress, const char *data, size_t len);

#endif
