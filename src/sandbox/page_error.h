/* An error in a page that is shared with init, egress or publish, which read what others chose. */
#ifndef SANDBOX_PAGE_ERROR_H
#define SANDBOX_PAGE_ERROR_H

#include "base/err.h"

/* Copies it once and makes it whole: a known code, texts that end and that a terminal may print.
 * Returns the code. */
int page_error_read(const sbr_error *shared, sbr_error *ret);

#endif
