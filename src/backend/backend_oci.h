/* OCI runtimes: crun, runc and others that take a bundle. */
#ifndef BACKEND_BACKEND_OCI_H
#define BACKEND_BACKEND_OCI_H

#include "sandbox/sandbox.h"

/* `runtime` is a name in PATH or an absolute path. */
int backend_oci_start(const char *runtime, struct sandbox *box, const struct plan *plan,
                      const struct sandbox_means *means, sbr_error *err) must_check;

#endif
