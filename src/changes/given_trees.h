/* The directories of the host that sessions were given: what a client that writes a file for the
 * user must know of them (base/save.h). */
#ifndef CHANGES_GIVEN_TREES_H
#define CHANGES_GIVEN_TREES_H

#include <jansson.h>

#include "base/save.h"
#include "model/request.h"

/* A session keeps them under this key of this file in its directory. */
#define GIVEN_TREES_FILE "session.json"
#define GIVEN_TREES_KEY "trees"

/* NULL: it has none. */
json_t *given_trees_describe(const sbr_request *req);

/* All trees of the session `id`, which may be NULL, and those that any other session of the caller
 * writes to.  Adds to what is there. */
int given_trees_find(const char *id, struct save_trees *trees, sbr_error *err) must_check;

#endif
