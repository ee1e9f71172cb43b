#include "http/rate.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define RATE_TENANTS 256
#define MINUTE_US 60000000.0

struct bucket {
    char name[TENANT_NAME_SIZE];
    double left;
    uint64_t at_us;
};

static struct bucket buckets[RATE_TENANTS];

/* The tenant's own, or the one that was not used for longest. */
static struct bucket *bucket_of(const struct tenant *tenant, uint64_t now_us)
{
    struct bucket *oldest = &buckets[0];

    for (size_t i = 0; i < RATE_TENANTS; i++) {
        if (!strcmp(buckets[i].name, tenant->name))
            return &buckets[i];
        if (buckets[i].at_us < oldest->at_us)
            oldest = &buckets[i];
    }
    *oldest = (struct bucket){ .left = tenant->per_minute, .at_us = now_us };
    snprintf(oldest->name, sizeof(oldest->name), "%s", tenant->name);
    return oldest;
}

unsigned int rate_take(const struct tenant *tenant, size_t starts)
{
    uint64_t now_us = clock_now_us();
    struct bucket *bucket;

    if (!tenant->per_minute)
        return 0;
    bucket = bucket_of(tenant, now_us);
    bucket->left += (double)(now_us - bucket->at_us) * tenant->per_minute / MINUTE_US;
    if (bucket->left > tenant->per_minute)
        bucket->left = tenant->per_minute;
    bucket->at_us = now_us;
    if (starts > tenant->per_minute)
        return 60;
    if (bucket->left < (double)starts)
        return (unsigned int)(((double)starts - bucket->left) * 60 / tenant->per_minute) + 1;
    bucket->left -= (double)starts;
    return 0;
}
