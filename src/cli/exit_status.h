/* The status of `run` and its kin, from how the program ended. */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#include "model/result.h"

/* `signal` is what ended us, or 0. */
int exit_status_of(const sbr_result *r, int signal);

#endif
