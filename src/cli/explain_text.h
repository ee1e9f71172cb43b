/* An explanation (explain/explain_record.h) for people. */
#ifndef CLI_EXPLAIN_TEXT_H
#define CLI_EXPLAIN_TEXT_H

#include "cli/options.h"

struct json_t; /* of jansson */

/* On stdout. */
void explain_print(const struct json_t *explanation, const struct options *o);

#endif
