/* TCP: accepted inside, dialled outside, relayed.
 *
 *   FINDING --addresses--> DIALLING --connected--> RELAYING --both ends--> gone
 *      refused, not found, no address answers, an error of either side: reset */
#ifndef EGRESS_CONNECTION_H
#define EGRESS_CONNECTION_H

#include "egress/egress_internal.h"

/* Takes what a listener has: the `ready` of its watch.  `context` is the struct listener. */
void connection_accept(void *context, uint32_t events);
/* Lets the listeners rest, or work again, according to how many are open. */
void connection_rest(struct egress *egress);
/* Goes on to the next addresses of hosts that do not answer, and lets starved listeners try again. */
void connection_tick(struct egress *egress, uint64_t now_us);
/* No byte more may pass in this direction: it is noted, and all connections and flows end. */
void connection_limit_reached(struct egress *egress, enum direction direction, const char *target);
/* Everything that the program has sent has been passed on. */
bool connection_all_sent(const struct egress *egress);
/* Resets those of which that is not true: the kernel would go on sending for them. */
void connection_give_up(struct egress *egress);

#endif
