/* What a run may use and what was refused, of a plan or of a result.  Pure.  Reads only the JSON
 * form, so that a saved plan and a new one are explained by the same code. */
#ifndef EXPLAIN_EXPLAIN_RECORD_H
#define EXPLAIN_EXPLAIN_RECORD_H

struct json_t; /* of jansson */

/* `record` is a result or a plan.  NULL when it is neither, or without memory.  The caller owns
 * {about, outcome, allowed {network, files, limits, system_calls, environment, isolation},
 * refused} */
struct json_t *explain_record(const struct json_t *record);

#endif
