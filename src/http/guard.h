/* Who and what may pass, before a handler sees the request. */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include "http/exchange.h"

/* False: the exchange has its reply. */
bool guard_admits(struct exchange *x, const char *method);

#endif
