/* A grant as JSON: the file of a token, and what `token list` shows. */
#ifndef ADMIT_GRANT_JSON_H
#define ADMIT_GRANT_JSON_H

#include <jansson.h>

#include "admit/grant.h"

/* The caller gives it back; NULL without memory. */
json_t *grant_to_json(const struct grant *grant);
/* Refuses what grant_to_json does not write. */
int grant_from_json(const json_t *value, struct grant *ret, sbr_error *err) must_check;

#endif
