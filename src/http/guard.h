/* Who and what may pass, before a handler sees the request. */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include "http/exchange.h"

/* False: the exchange has its reply. */
bool guard_admits(struct exchange *x, const char *method);
/* Counts `starts` more for the rate than the one that the route counts for.  False: replied. */
bool guard_takes(struct exchange *x, size_t starts);

#endif
