/* Starts the program: the last step that uses init's rights. */
#ifndef INIT_PROGRAM_START_H
#define INIT_PROGRAM_START_H

#include <sys/types.h>

#include "confine/confiner.h"

/* Returns once the program executes, in a session of its own.  A driver finds `go_fd` at DRIVER_GO;
 * -1: the program is no driver. */
int program_start(struct inside *in, int go_fd, pid_t *ret, sbr_error *err) must_check;
/* Init has no stdin of the program's any more: the writer sees when the program closes it. */
void program_owns_stdin(void);

/* Executes the plan's command as execvp would, but without its fall-back to a shell.
 * Returns only on failure. */
void program_execute(const struct plan *plan);

#endif
