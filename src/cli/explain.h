/* What may be used and what was refused, for a plan or for a result.  Everything is read from JSON, so that a saved plan
 * and one that was just made are explained by the same lines. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli/options.h"

struct json_t; /* of jansson, which the lean program has not */

/* `record` is a result or a plan.  NULL when it is neither, or without memory.  The caller owns what it gets:
 * {about, outcome, allowed {network, files, limits, system_calls, environment, isolation}, refused} */
struct json_t *explain(const struct json_t *record);

/* For people, on stdout. */
void explain_print(const struct json_t *explanation, const struct options *o);

#endif
