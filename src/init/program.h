/* Starting the program: the last thing that is done with init's rights. */
#ifndef INIT_PROGRAM_H
#define INIT_PROGRAM_H

#include <sys/types.h>

#include "sandbox/confiner.h"

/* Returns once the program is executing, in a session of its own. */
int program_start(struct inside *in, pid_t *ret, sbr_error *err) must_check;

#endif
