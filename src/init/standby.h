/* Init between its confinement and a program that is not known yet. */
#ifndef INIT_STANDBY_H
#define INIT_STANDBY_H

#include "init/state.h"

/* Starts the template's driver, if it has one, and waits until it is warm.  0 or negative. */
int standby_start(struct init *init, sbr_error *err) must_check;
/* Tells that it is parked and waits for ORDER_GO.  0: the program's files are in place, its limits hold, and either the
 * driver has been told (`program` is its pid, and it runs) or the program can be started.  1: nobody wants it any more.
 * Negative: an error. */
int standby_wait(struct init *init, sbr_error *err) must_check;
/* The program has ended.  True when it was a driver that left its program to us; asked once. */
bool standby_refused(struct init *init);

#endif
