/* The step table: what sandbox-run-init does to itself, in order. */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include "confine/confiner.h"

/* Runs in sandbox-run-init, between the new namespaces and the program.
 *   Should:  leave the process with only what the plan names.
 *   Mustn't: open a path that the plan does not name; leave a descriptor open across exec.
 *   (1) A step that fails ends init: no partial sandbox ever runs the program. */
int confine_self(struct inside *in, sbr_error *err) must_check;

/* The steps that are left to the program's own process, right before its exec: those that init
 * itself cannot live with when it has neither a pid namespace nor a root of its own. */
int confine_program(struct inside *in, sbr_error *err) must_check;

#endif
