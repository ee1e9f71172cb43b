/* What happened so far, for /metrics. */
#ifndef HTTP_COUNTERS_H
#define HTTP_COUNTERS_H

#include <stdint.h>

#include "base/buf.h"
#include "config/audit.h"
#include "model/result.h"

struct exchange;
struct server;

#define COUNTERS_MAX_ROWS 512
#define COUNTERS_N_BUCKETS 11
#define COUNTERS_N_STARTUPS 3

struct counters_row {
    const char *language; /* static, or "command" */
    const char *outcome;  /* static */
    uint64_t n;
};

struct counters_histogram {
    uint64_t bucket[COUNTERS_N_BUCKETS + 1];
    uint64_t n, sum_us;
};

struct counters {
    struct counters_row rows[COUNTERS_MAX_ROWS];
    size_t n_rows;
    struct counters_histogram duration, startup;
    uint64_t requests[6]; /* by the first digit of their status */
    uint64_t refused;     /* without a right, or without room */
    uint64_t startups[COUNTERS_N_STARTUPS];
    uint64_t out_bytes, errout_bytes;
    uint64_t cancelled_by_client;
};

void counters_add_run(struct counters *counters, const char *language, const sbr_result *result,
                      uint64_t total_us);
void counters_add_request(struct counters *counters, unsigned int status);
/* Numbers of now, which the counters do not have. */
struct counters_now {
    uint64_t active, connections, kept, uptime_us, spans_sent, spans_dropped;
};
/* The text format of Prometheus. */
void counters_print(const struct counters *counters, const struct counters_now *now,
                    struct buf *out);

/* Requests that the gateway refused, counted for the audit.
 *
 * A stranger can be refused thousands of times a second.  Each such request adds to a row; a line a
 * minute goes on record, in a file of its own, so that no number of them displaces a run. */
struct refusals {
    struct audit_refusal rows[AUDIT_REFUSALS_MAX];
    size_t n;
    uint64_t others;  /* in none of the rows */
    uint64_t from_us; /* of the first one, by CLOCK_REALTIME; 0: there is none */
    uint64_t due_us;
};

/* Counts a reply of 401, 403 or 429; all others are none of its business. */
void refusals_count(const struct exchange *x);
void refusals_tick(struct server *server, uint64_t now_us);
/* Writes what is not on record yet. */
void refusals_end(struct server *server);

#endif
