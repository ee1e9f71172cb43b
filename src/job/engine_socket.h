/* The socket of the engine (`sandbox-run serve`), which only its owner can reach.
 *
 * $SANDBOX_RUN_SOCKET if set; otherwise /run/sandbox-run/engine.sock for root, and for other users
 * $XDG_RUNTIME_DIR/sandbox-run/engine.sock or, without such a directory,
 * /tmp/sandbox-run-UID/engine.sock. */
#ifndef JOB_ENGINE_SOCKET_H
#define JOB_ENGINE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ENGINE_SOCKET_ENV "SANDBOX_RUN_SOCKET"
#define ENGINE_COLD_ENV "SANDBOX_RUN_COLD" /* as --cold: no engine is asked */
#define ENGINE_PATH_SIZE 108               /* the size of an address */

int engine_socket_path(char *path, size_t size, sbr_error *err) must_check;

/* The environment says that none is asked, or this process is one. */
bool engine_is_unwanted(void);
/* This process is the engine, which uses none.  Its children do, the gateway among them. */
void engine_is_here(void);

/* 0 and a nonblocking fd; -1 without an engine, or when the listener belongs to another user or to
 * other namespaces (sandbox/peer.h). */
int engine_connect(int *ret_fd);

/* Makes the directory, unless it was chosen, and a listening socket in it, mode 0600, whose fd is
 * nonblocking.  Replaces a socket without a listener; SBR_E_BUSY when an engine listens. */
int engine_listen(int *ret_fd, sbr_error *err) must_check;
/* Call it before the listening fd is closed, so that no client finds a name without an engine. */
void engine_unlisten(void);

#endif
