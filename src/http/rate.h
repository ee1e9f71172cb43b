/* How often a token may start something: a bucket that fills by the minute's share each second. */
#ifndef HTTP_RATE_H
#define HTTP_RATE_H

#include "http/tenant.h"

/* `starts`: how many things it starts at once.  0: it may; otherwise how many seconds to wait, at
 * most a minute also for more than the token ever allows. */
unsigned int rate_take(const struct tenant *tenant, size_t starts);

#endif
