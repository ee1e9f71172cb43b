/* Backends: programs that make the container around a sandbox.
 *
 * With the native backend init is our own child.  With the others a container runtime or a
 * container engine makes a container first, which holds only what the plan names; init then makes
 * its sandbox in it as it always does.  So requests, results, verdicts, limits and refusals are the
 * same, and the container is a second wall. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "sandbox/sandbox.h"

/* Starts a sandbox as sandbox_start() does, in a container of the backend of this name (as
 * request_set_backend() takes it).  "native" and NULL are sandbox_start() itself; "auto" is the
 * strongest one that starts.  The plan then says what made the container. */
int backend_start(const char *name, struct sandbox *box, struct plan *plan,
                  const struct sandbox_means *means, sbr_error *err) must_check;

/* What `doctor` tries; NULL at the end. */
extern const char *const backend_known[];

#endif
