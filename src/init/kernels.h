/* Further kernels of a session: programs of other languages beside the session's own, in the same
 * sandbox.  Each is a child of init, confined as the first one is. */
#ifndef INIT_KERNELS_H
#define INIT_KERNELS_H

#include "init/state.h"

/* Reads an order, as read() does; carries an ORDER_KERNEL out.  Only the init of a session takes
 * file descriptors: other policies may forbid the call. */
ssize_t kernels_receive(struct init *init, struct init_message *ret);
/* The process of the kernel with this number, from 1 on; 0: none. */
pid_t kernels_pid(const struct init *init, uint32_t number);
/* A child of this number has ended. */
void kernels_forget(struct init *init, pid_t pid);

#endif
