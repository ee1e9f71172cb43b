/* The TCP sockets on which the program's connections arrive. */
#ifndef EGRESS_LISTENERS_H
#define EGRESS_LISTENERS_H

#include "egress/egress_internal.h"

/* Pauses or resumes the listeners, according to how many connections are open. */
void listeners_rest(struct egress *egress);

#endif
