/* Requests that the gateway refused, counted for the audit.
 *
 * A stranger can be refused thousands of times a second.  Each such request adds to a row; a line a
 * minute goes on record, in a file of its own, so that no number of them displaces a run. */
#ifndef HTTP_REFUSALS_H
#define HTTP_REFUSALS_H

#include "config/audit.h"

struct exchange;
struct server;

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
