/* A process that restores the user's terminal when ours was killed. */
#ifndef CLI_TTY_GUARDIAN_H
#define CLI_TTY_GUARDIAN_H

#include <sys/types.h>

#include "cli/user_tty.h"

/* Its pid; -1 with errno.  It ends by itself after us. */
pid_t tty_guardian_start(int tty_fd, const struct user_tty_state *state);
/* The terminal is as before. */
void tty_guardian_dismiss(pid_t pid);

#endif
