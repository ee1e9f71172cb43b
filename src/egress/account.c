#include "egress/egress_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/limits.h"

static struct denial *find_denial(struct egress_page *page, const struct denial *one)
{
    for (uint32_t i = 0; i < page->n_denials; i++) {
        struct denial *other = &page->denials[i];

        if (other->kind == one->kind && strcmp(other->target, one->target) == 0 &&
            strcmp(other->rule, one->rule) == 0)
            return other;
    }
    return NULL;
}

void account_deny(struct egress *egress, const struct denial *one)
{
    struct egress_page *page = egress->page;
    struct denial *same = find_denial(page, one);

    atomic_fetch_add(&page->refused, 1);
    if (same) {
        same->count++;
        return;
    }
    if (page->n_denials == DENIALS_MAX) {
        atomic_fetch_add(&page->denials_dropped, 1);
        return;
    }
    page->denials[page->n_denials] = *one;
    page->denials[page->n_denials].count = 1;
    atomic_fetch_add(&page->n_denials, 1);
}

bool account_ask(struct egress *egress, const struct denial *one)
{
    struct egress_page *page = egress->page;

    if (page->n_asked == DENIALS_MAX)
        return false;
    page->asked[page->n_asked] = *one;
    page->asked[page->n_asked].count = 1;
    atomic_fetch_add(&page->n_asked, 1);
    return true;
}

/* The limits that count here, as the tables of limits and options name them. */
struct cap {
    const char *name;
    const char *option;
};

static void deny_by_limit(struct egress *egress, const struct cap *cap, uint64_t max,
                          const char *target)
{
    struct denial one = { .kind = DENIAL_CONNECT, .source = DENIAL_BY_LIMIT };

    snprintf(one.target, sizeof(one.target), "%s", target);
    snprintf(one.rule, sizeof(one.rule), "limits: %s %" PRIu64, cap->name, max);
    snprintf(one.remedy, sizeof(one.remedy), "--%s", cap->option);
    account_deny(egress, &one);
}

/* clang-format off */
static const struct cap byte_caps[N_DIRECTIONS] = {
    [DIRECTION_IN]  = { "network_in_bytes",  "max-network-in"  },
    [DIRECTION_OUT] = { "network_out_bytes", "max-network-out" },
};
/* clang-format on */

static _Atomic uint64_t *byte_counter(struct egress_page *page, enum direction direction)
{
    return direction == DIRECTION_IN ? &page->bytes_in : &page->bytes_out;
}

/* The direction that is full, once `spent` is set. */
static enum direction spent_direction(const struct egress *egress)
{
    return account_room(egress, DIRECTION_IN) == 0 ? DIRECTION_IN : DIRECTION_OUT;
}

bool account_open(struct egress *egress, const char *target)
{
    static const struct cap cap = { "connections", "max-connections" };

    if (egress->spent) {
        account_spent(egress, spent_direction(egress), target);
        return false;
    }
    if (egress->max_connections != LIMIT_NONE &&
        egress->page->connections >= egress->max_connections) {
        deny_by_limit(egress, &cap, egress->max_connections, target);
        return false;
    }
    atomic_fetch_add(&egress->page->connections, 1);
    return true;
}

uint64_t account_room(const struct egress *egress, enum direction direction)
{
    uint64_t max = egress->max_bytes[direction];
    uint64_t used = *byte_counter(egress->page, direction);

    if (max == LIMIT_NONE)
        return UINT64_MAX;
    return used < max ? max - used : 0;
}

void account_bytes(struct egress *egress, enum direction direction, uint64_t n)
{
    atomic_fetch_add_explicit(byte_counter(egress->page, direction), n, memory_order_relaxed);
}

void account_spent(struct egress *egress, enum direction direction, const char *target)
{
    egress->spent = true;
    deny_by_limit(egress, &byte_caps[direction], egress->max_bytes[direction], target);
}
