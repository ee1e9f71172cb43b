/* The step table: what sandbox-run-init does to itself, in order. */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include "confine/confiner.h"

/* Runs in sandbox-run-init, after the new namespaces exist and before the program starts.
 *   Should:  leave the process with only what the plan names.
 *   Mustn't: open a path that the plan does not name; leave a file descriptor open across exec.
 *   (1) A step that fails ends init: no partial sandbox ever runs the program. */
int confine_self(struct inside *in, sbr_error *err) must_check;

/* Takes the steps that the program's own process takes right before its exec, because init could
 * not do its own work after them (see confine.c). */
int confine_program(struct inside *in, sbr_error *err) must_check;

#endif
