/* Which languages this machine has, and in which versions: asked in a thread, kept for a while. */
#ifndef DIALECT_CATALOG_H
#define DIALECT_CATALOG_H

#include <stdbool.h>

#include "http/exchange.h"
#include "plan/language.h"

struct catalog;
struct server;

struct catalog_row {
    const struct language *language;
    char version[40]; /* empty: not known */
    bool best;        /* what the name alone means */
};

/* False: it is asked now, and the handler of the route is called again when it is there. */
bool catalog_is_ready(struct exchange *x);
/* Those that the tenant may use, one by one; NULL: no more. */
const struct catalog_row *catalog_at(const struct catalog *catalog, const struct grant *tenant,
                                     size_t index);
/* By name or alias and a selector of semver.h, the newest; NULL: there is none. */
const struct catalog_row *catalog_find(const struct catalog *catalog, const struct grant *tenant,
                                       const char *name, const char *selector);
/* What a request calls it: the name, or NAME@VERSION; the caller frees it. */
char *catalog_name(const struct catalog_row *row);
void catalog_free(struct server *server);

/* Selectors of versions, as clients of Piston write them: "3.x", "^3.9", ">=10", "*". */

/* False also for a selector that is none. */
bool semver_matches(const char *version, const char *selector);

#endif
