#include "work/stats.h"

#include <stdlib.h>

#include "base/jsonw.h"

int stats_add(struct samples *s, uint64_t value, sbr_error *err)
{
    uint64_t *grown = reallocarray(s->values, s->n + 1, sizeof(*grown));

    if (!grown)
        return err_set_oom(err, "samples");
    s->values = grown;
    s->values[s->n++] = value;
    s->sorted = false;
    return 0;
}

void stats_done(struct samples *s)
{
    free(s->values);
    *s = (struct samples){ 0 };
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The smallest value that so many percent of the samples do not exceed. */
static uint64_t percentile(const struct samples *s, size_t percent)
{
    size_t rank = (s->n * percent + 99) / 100;

    return s->values[rank ? rank - 1 : 0];
}

static uint64_t median_of(const struct samples *s)
{
    uint64_t upper = s->values[s->n / 2];

    return s->n % 2 ? upper : s->values[s->n / 2 - 1] + (upper - s->values[s->n / 2 - 1]) / 2;
}

struct stats stats_of(struct samples *s)
{
    struct stats stats = { .n = s->n };
    uint64_t low, high, range;

    if (!s->n)
        return stats;
    if (!s->sorted)
        qsort(s->values, s->n, sizeof(*s->values), by_value);
    s->sorted = true;
    low = percentile(s, 25);
    high = percentile(s, 75);
    range = high - low;
    stats.min = s->values[0];
    stats.median = median_of(s);
    stats.p95 = percentile(s, 95);
    stats.max = s->values[s->n - 1];
    if (stats.median)
        stats.spread_permille = range * 500 / stats.median;
    for (size_t i = 0; i < s->n; i++)
        stats.outliers += s->values[i] > high + range * 3 / 2 || s->values[i] + range * 3 / 2 < low;
    return stats;
}

void stats_put(struct jsonw *j, const char *key, const struct stats *stats, unsigned int decimals)
{
    jsonw_open(j, key, '{');
    jsonw_number(j, "runs", stats->n);
    jsonw_fixed(j, "min", stats->min, decimals);
    jsonw_fixed(j, "median", stats->median, decimals);
    jsonw_fixed(j, "p95", stats->p95, decimals);
    jsonw_fixed(j, "max", stats->max, decimals);
    jsonw_fixed(j, "spread", stats->spread_permille, 3);
    jsonw_number(j, "outliers", stats->outliers);
    jsonw_close(j, '}');
}
