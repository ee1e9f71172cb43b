/* Init between its confinement and the arrival of its program. */
#ifndef INIT_STANDBY_H
#define INIT_STANDBY_H

#include "init/state.h"

/* Starts the blueprint's driver, if it has one, and waits until it is warm; 0 or negative. */
int standby_start(struct init *init, sbr_error *err) must_check;
/* Reports that the sandbox is ready and waits for ORDER_GO.  0: the program's files are in place,
 * its limits are set, and either the driver has its order (`program` is its pid, and it runs) or
 * the program can be started.  1: the sandbox is not wanted any more.  Negative: an error. */
int standby_wait(struct init *init, sbr_error *err) must_check;
/* To be asked once, after the program ended.  True when it was a driver that left
 * its program to init. */
bool standby_refused(struct init *init);

#endif
