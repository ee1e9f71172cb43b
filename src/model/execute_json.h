/* The form {"command", "config", "files"}: a line of shell, with a configuration of few words.  It
 * is made into the JSON of a request, and checked as such. */
#ifndef MODEL_EXECUTE_JSON_H
#define MODEL_EXECUTE_JSON_H

#include <jansson.h>

#include "model/limits.h"
#include "model/network.h"

/* What the caller may have at most: defaults yield to it, and what is asked for does not. */
struct execute_most {
    uint64_t limits[N_LIMITS]; /* LIMIT_NONE: nothing bounds it */
    enum network_mode network;
};

/* NULL: *err says why.  `most` NULL: no bounds. */
json_t *execute_request(const json_t *body, const struct execute_most *most, sbr_error *err);
/* {"exitCode", "stdout", "stderr", "duration", "resourceUsage"}; NULL without memory. */
json_t *execute_answer(const json_t *result);

#endif
