/* The ids of root's runs that are in use: locks on the bytes of an empty file that only root can
 * open.
 *
 * A lock belongs to the open file, not to a process: it lasts as long as any process has the fd
 * (the engine keeps it for a sandbox that it has lent), however the last of them ends.  Only root
 * can take one, so no other user can exhaust the ids.
 *
 * The file is /run/sandbox-run.ids; where that cannot be made, `ids` in /dev/shm/sandbox-run-UID;
 * where nothing is writable, an abstract socket name replaces the lock.  A process that sees
 * another file system there, as in another container, holds ids independently. */
#ifndef SANDBOX_ID_LOCKS_H
#define SANDBOX_ID_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define ID_LOCKS_VARIABLE "SANDBOX_RUN_ID_LOCKS" /* another directory, which must exist */

struct id_lock {
    int fd;       /* an open file for one id; the caller closes it */
    bool is_name; /* a socket, because no file can be made */
};

int id_locks_open(struct id_lock *ret, sbr_error *err) must_check;
/* 1: held until the fd is closed; 0: another run has it; -1 with errno. */
int id_locks_hold(const struct id_lock *lock, uint32_t id);

#endif
