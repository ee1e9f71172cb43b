#include "http/counters.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "http/server.h"

#define MINUTE_US (60 * 1000000ULL)

/* Words of the code, NULL for none; equal ones may stand in two places. */
static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static struct audit_refusal *row_of(struct refusals *refusals, const struct exchange *x)
{
    struct audit_refusal *row = refusals->rows;

    for (size_t i = 0; i < refusals->n; i++, row++)
        if (row->status == x->status && is_same(row->reason, x->reason) &&
            !strcmp(row->caller, x->tenant.name))
            return row;
    if (refusals->n == AUDIT_REFUSALS_MAX)
        return NULL;
    refusals->n++;
    *row = (struct audit_refusal){ .status = x->status, .reason = x->reason };
    snprintf(row->caller, sizeof(row->caller), "%s", x->tenant.name);
    text_copy_visibly(row->method, sizeof(row->method), x->method, strlen(x->method));
    text_copy_visibly(row->path, sizeof(row->path), x->path, strlen(x->path));
    return row;
}

void refusals_count(const struct exchange *x)
{
    struct refusals *refusals = &x->server->refusals;
    struct audit_refusal *row;

    if (x->status != HTTP_UNAUTHORIZED && x->status != HTTP_FORBIDDEN &&
        x->status != HTTP_TOO_MANY_REQUESTS)
        return;
    x->server->counters.refused++;
    if (!x->server->config.audit)
        return;
    if (!refusals->from_us) {
        refusals->from_us = clock_read_us(CLOCK_REALTIME);
        refusals->due_us = clock_now_us() + MINUTE_US;
    }
    row = row_of(refusals, x);
    *(row ? &row->count : &refusals->others) += 1;
}

void refusals_end(struct server *server)
{
    struct refusals *refusals = &server->refusals;
    sbr_error err;

    if (!refusals->from_us)
        return;
    if (audit_note_refusals(refusals->rows, refusals->n, refusals->others, refusals->from_us,
                            server->config.retention.value[RETAIN_AUDIT_SIZE], &err) < 0)
        log_info("audit", "%s", err.message); /* they are refused either way */
    *refusals = (struct refusals){ .n = 0 };
}

void refusals_tick(struct server *server, uint64_t now_us)
{
    if (server->refusals.from_us && now_us >= server->refusals.due_us)
        refusals_end(server);
}
