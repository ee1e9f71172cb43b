/* TCP: accepted inside, dialled outside, relayed.
 *
 *   FINDING --addresses--> DIALLING --connected--> RELAYING --both ends--> gone
 *      WAITS: for a person, where the network asks
 *      refused, not found, no address answers, an error of either side: reset */
#ifndef EGRESS_CONNECTION_H
#define EGRESS_CONNECTION_H

#include "egress/egress_internal.h"

/* Accepts what a listener has: the `ready` of its watch.  `context` is the struct listener. */
void connection_accept(void *context, uint32_t events);
/* Dials the next addresses of hosts that do not answer, and lets starved listeners try again. */
void connection_tick(struct egress *egress, uint64_t now_us);
/* No more bytes may pass in this direction: notes it, and ends all connections and flows. */
void connection_limit_reached(struct egress *egress, enum direction direction, const char *target);
/* True when everything that the program has sent is passed on. */
bool connection_all_sent(const struct egress *egress);
/* Ends all connections, whatever they have to send. */
void connection_reset_all(struct egress *egress);
/* The rules are others: connections that wait are decided anew.  `once`: a rule for those alone
 * that wait for exactly it. */
void connection_answer(struct egress *egress, const char *once);
/* Nobody will answer any more. */
void connection_refuse_held(struct egress *egress);
/* Resets connections with unsent bytes: the kernel would go on sending for them. */
void connection_give_up(struct egress *egress);

#endif
