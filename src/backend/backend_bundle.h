/* The bundle of an OCI runtime: a plan as config.json. */
#ifndef BACKEND_BACKEND_BUNDLE_H
#define BACKEND_BACKEND_BUNDLE_H

#include "plan/plan.h"
#include "sandbox/ids.h"

/* One thing of the host that the container shows, at its own path. */
struct backend_mount {
    const char *path;
    bool writable;
};

#define BACKEND_MAX_MOUNTS 256

/* What init needs of the host to make its root, parents before what lies in them.  Trees that the
 * supervisor passes as file descriptors are not among it. */
int backend_bundle_mounts(const struct plan *plan, struct backend_mount *mounts, size_t *ret_n,
                          sbr_error *err) must_check;

/* The whole of config.json; the caller frees it; NULL without memory.  `share` is the directory
 * that the guest sees as GUEST_DIR.  `rootless`: the runtime has no right to become another user,
 * so that the container has a user namespace in which user 0 is the caller. */
char *backend_bundle_config(const struct plan *plan, const struct ids *ids,
                            const struct backend_mount *mounts, size_t n_mounts, const char *share,
                            bool rootless);

/* System calls that neither init nor a program of any policy makes; for seccomp profiles. */
void backend_bundle_put_seccomp(struct jsonw *j, const char *key);

#endif
