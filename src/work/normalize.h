/* Takes out of a text what is another each time: times, addresses, ids, paths, digits of floats. */
#ifndef WORK_NORMALIZE_H
#define WORK_NORMALIZE_H

#include "base/buf.h"
#include "base/err.h"

/* Names of normalisers with blanks, commas or line ends between them; *ret is one bit for each. */
int normalize_parse(const char *text, unsigned int *ret, sbr_error *err) must_check;
/* Adds the text to `out`; what it adds stays as it is when it is normalised again. */
int normalize_text(unsigned int which, const char *text, size_t len, struct buf *out);

#endif
