/* Where the engine (`sandbox-run serve`) and its clients meet: a socket that only its owner can reach.
 *
 * $SANDBOX_RUN_SOCKET if set; else /run/sandbox-run/engine.sock for root, and for others
 * $XDG_RUNTIME_DIR/sandbox-run/engine.sock or, without such a directory, /tmp/sandbox-run-UID/engine.sock. */
#ifndef JOB_ENGINE_SOCKET_H
#define JOB_ENGINE_SOCKET_H

#include <stddef.h>

#include "base/err.h"

#define ENGINE_SOCKET_ENV "SANDBOX_RUN_SOCKET"
#define ENGINE_PATH_SIZE 108 /* what an address has room for */

int engine_socket_path(char *path, size_t size, sbr_error *err) must_check;

/* 0 and a descriptor that does not block; -1 when nobody is there, or somebody who is not of our user or lives in other
 * namespaces than we do (sandbox/peer.h). */
int engine_connect(int *ret_fd);

/* Makes the directory where it is ours to make, and the socket in it, mode 0600, listening; its descriptor does not
 * block.  One that nobody listens on any more is taken over; SBR_E_BUSY when somebody does. */
int engine_listen(int *ret_fd, sbr_error *err) must_check;
/* Before the listening descriptor is closed, so that nobody finds a name without an engine. */
void engine_unlisten(void);

#endif
