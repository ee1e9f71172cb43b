/* Which ids of root's runs are in use: locks on the bytes of one empty file that only root can open.
 *
 * A lock belongs to the open file, not to a process: it is held as long as some process has the descriptor (the engine
 * keeps it for a sandbox that it has lent), and is gone with the last of them, however that ends.  Nobody but root can
 * take one, so nobody else can use the ids up.
 *
 * The file is /run/sandbox-run.ids; where that cannot be made, `ids` in /dev/shm/sandbox-run-UID; where nothing can be
 * written to, an abstract socket name takes the place of the lock.  A process that sees another file system there, as in
 * another container, holds ids apart. */
#ifndef SANDBOX_ID_LOCKS_H
#define SANDBOX_ID_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define ID_LOCKS_VARIABLE "SANDBOX_RUN_ID_LOCKS" /* another directory, which has to be there */

struct id_lock {
    int fd;       /* an open file of its own, for one id; the caller closes it */
    bool is_name; /* a socket, because no file can be had                      */
};

int id_locks_open(struct id_lock *ret, sbr_error *err) must_check;
/* 1: it is held until the descriptor is closed; 0: another run has it; -1 with errno. */
int id_locks_hold(const struct id_lock *lock, uint32_t id);

#endif
