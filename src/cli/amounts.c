#include "cli/amounts.h"

#include <stdio.h>
#include <time.h>

#include "base/err.h"

void amount_of_bytes(uint64_t bytes, char *buf, size_t size)
{
    static const char units[] = " KMGT";
    double value = (double)bytes;
    unsigned int unit = 0;

    for (; value >= 1000 && units[unit + 1]; unit++)
        value /= 1024;
    if (unit == 0)
        snprintf(buf, size, "%.0f", value);
    else
        snprintf(buf, size, value < 10 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

void amount_of_idle(int64_t used, char *buf, size_t size)
{
    static const struct {
        int64_t seconds;
        char unit;
    } rows[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    int64_t idle = time(NULL) - used;
    size_t i = 0;

    if (idle < 0)
        idle = 0;
    while (i + 1 < ARRAY_LEN(rows) && idle < 2 * rows[i].seconds)
        i++;
    snprintf(buf, size, "%lld%c", (long long)(idle / rows[i].seconds), rows[i].unit);
}

void amount_of(size_t n, const char *one, const char *many, char *buf, size_t size)
{
    snprintf(buf, size, "%zu %s", n, n == 1 ? one : many);
}
