/* Which fields of a request in JSON a caller on another machine may set, and to what kind of
 * value: paths of the host, programs of the host and weaker isolation are the operator's. */
#ifndef ADMIT_ADMIT_FIELDS_H
#define ADMIT_ADMIT_FIELDS_H

#include <jansson.h>

#include "admit/grant.h"
#include "admit/refusal.h"

struct request_field;

/* One of them.  0, or -1 with the field. */
int admit_field(const struct grant *grant, const struct request_field *field, const json_t *value,
                struct refusal *fault) must_check;
/* All of a body, which may have others: its reader refuses them.  0, or -1 with the field. */
int admit_fields(const struct grant *grant, const json_t *body, struct refusal *fault) must_check;

#endif
