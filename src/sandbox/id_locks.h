/* Which ids of root's runs are in use: locks on the bytes of one empty file that only root can open.
 *
 * A lock belongs to the open file, not to a process: it is held as long as some process has the descriptor (the engine
 * keeps it for a sandbox that it has lent), and is gone with the last of them, however that ends.  Nobody but root can
 * take one, so nobody else can use the ids up.
 *
 * The file is /run/sandbox-run.ids; where that cannot be made, `ids` in /tmp/sandbox-run-UID or /dev/shm/sandbox-run-UID.  Whoever sees another file
 * system there, as in another container, holds ids apart. */
#ifndef SANDBOX_ID_LOCKS_H
#define SANDBOX_ID_LOCKS_H

#include <stdint.h>

#include "base/err.h"

#define ID_LOCKS_VARIABLE "SANDBOX_RUN_ID_LOCKS" /* another directory, which has to be there */

/* A new open file, for one lock; negative: an error code. */
int id_locks_open(sbr_error *err) must_check;
/* 0; or -1 with errno, EAGAIN or EACCES when somebody else has it.  The descriptor holds it until it is closed. */
int id_locks_hold(int fd, uint32_t id);

#endif
