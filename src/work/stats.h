/* Figures of repeated runs: sorted once, then read. */
#ifndef WORK_STATS_H
#define WORK_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct jsonw;

struct samples {
    uint64_t *values;
    size_t n;
    bool sorted;
};

int stats_add(struct samples *s, uint64_t value, sbr_error *err) must_check;
void stats_done(struct samples *s);

struct stats {
    size_t n;
    uint64_t min, median, p95, max;
    /* Half of what lies between the first and the third quarter, in thousandths of the median. */
    uint64_t spread_permille;
    size_t outliers; /* further out than one and a half times that whole range */
};

/* Sorts the samples; all figures are 0 without any. */
struct stats stats_of(struct samples *s);
/* As an object; values / 10^decimals. */
void stats_put(struct jsonw *j, const char *key, const struct stats *stats, unsigned int decimals);

#endif
