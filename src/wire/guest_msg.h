/* What the supervisor and the guest send to each other.
 *
 * The guest is the first process of a container that another program made (src/backend/).  It
 * connects to a socket of the supervisor's, gets init's file descriptors, makes init in namespaces
 * of its own, and ends with it.  The program never sees the container: init's root covers it. */
#ifndef WIRE_GUEST_MSG_H
#define WIRE_GUEST_MSG_H

#include <stdint.h>

#include "base/err.h"

/* A directory of the run's own, read-only in the container. */
#define GUEST_DIR "/sandbox-run"
#define GUEST_IMAGE "init"
#define GUEST_SOCKET "socket"

/* Supervisor to guest; carries the N_INIT_FDS file descriptors of init. */
struct guest_offer {
    uint64_t namespaces; /* CLONE_NEW* */
    uint32_t inside_uid; /* what the guest's own user is called in the new user namespace */
    uint32_t inside_gid;
};

/* Guest to supervisor; carries a pidfd of init if `error.code` is 0. */
struct guest_answer {
    sbr_error error;
};

#endif
