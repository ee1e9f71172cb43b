/* Backends: programs that make the container around a sandbox.
 *
 * With the native backend init is our own child.  With the others a container runtime or a
 * container engine makes a container first, which holds only what the plan names; init then makes
 * its sandbox in it as it always does.  So requests, results, verdicts, limits and refusals are the
 * same, and the container is a second wall. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "plan/plan.h"
#include "sandbox/ids.h"
#include "sandbox/sandbox.h"

/* Starts a sandbox as sandbox_start() does, in a container of the backend of this name (as
 * request_set_backend() takes it).  "native" and NULL are sandbox_start() itself; "auto" is the
 * strongest one that starts.  The plan then says what made the container. */
int backend_start(const char *name, struct sandbox *box, struct plan *plan,
                  const struct sandbox_means *means, sbr_error *err) must_check;

/* What `doctor` tries; NULL at the end. */
extern const char *const backend_known[];

/* OCI runtimes: crun, runc and others that take a bundle. */

/* `runtime` is a name in PATH or an absolute path. */
int backend_oci_start(const char *runtime, struct sandbox *box, const struct plan *plan,
                      const struct sandbox_means *means, sbr_error *err) must_check;

/* Container engines over their Unix socket: Docker's Engine API, which Podman's service has too. */

/* Of DOCKER_HOST (unix:///PATH), or Docker's usual one. */
int backend_engine_docker_socket(const char **ret, sbr_error *err) must_check;

/* `path` is that of the socket; empty: the engine's usual one. */
int backend_engine_docker(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err) must_check;
int backend_engine_podman(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err) must_check;

/* The bundle of an OCI runtime: a plan as config.json. */

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
