/* How often a token may start something: a bucket that fills by the minute's share each second. */
#ifndef HTTP_RATE_H
#define HTTP_RATE_H

#include "http/tenant.h"

/* 0: it may; otherwise how many seconds to wait. */
unsigned int rate_take(const struct tenant *tenant);

#endif
