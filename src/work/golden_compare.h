/* What a case has now against what is expected; the first difference in words. */
#ifndef WORK_GOLDEN_COMPARE_H
#define WORK_GOLDEN_COMPARE_H

#include "work/golden.h"

/* Adds the first difference, with its lines around it; nothing: there is none. */
int golden_compare(const struct golden_case *c, const struct golden_now *now, struct buf *out,
                   sbr_error *err) must_check;
/* The commands that write what is expected from now on, relative to the directory of the cases. */
void golden_script(const struct golden_case *c, const struct golden_now *now, struct buf *out);

#endif
