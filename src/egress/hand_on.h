/* Connections to hosts with secrets: sandbox-run-secrets gets the program's end, and egress carries
 * what comes out of it. */
#ifndef EGRESS_HAND_ON_H
#define EGRESS_HAND_ON_H

#include "egress/target.h"

/* Watches the link to sandbox-run-secrets; does nothing without secrets. */
int hand_on_open(struct egress *egress, sbr_error *err) must_check;
/* For a target that was decided on and dialled.  Puts a socket from sandbox-run-secrets in place of
 * the program's end where it is for one; false: it should be, and cannot. */
bool hand_on_give(const struct target *target, int *inside);

#endif
