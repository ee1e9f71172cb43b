/* Container engines over their Unix socket: Docker's Engine API, which Podman's service has too. */
#ifndef BACKEND_BACKEND_ENGINE_H
#define BACKEND_BACKEND_ENGINE_H

#include "sandbox/sandbox.h"

/* Of DOCKER_HOST (unix:///PATH), or Docker's usual one. */
int backend_engine_docker_socket(const char **ret, sbr_error *err) must_check;

/* `path` is that of the socket; empty: the engine's usual one. */
int backend_engine_docker(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err) must_check;
int backend_engine_podman(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err) must_check;

#endif
