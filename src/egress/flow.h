/* UDP: a flow is what one socket of the program exchanges with one address that it asked for.  Its
 * socket outside is connected, so that no other host can answer, and answers are written as whole
 * packets from the address that was asked for. */
#ifndef EGRESS_FLOW_H
#define EGRESS_FLOW_H

#include "egress/egress_internal.h"

/* Takes the datagrams that have come: the `ready` of a listener's watch.  `context` is
 * the struct listener. */
void flow_receive(void *context, uint32_t events);
/* Sends an answer of the resolver. */
void flow_answer(struct egress *egress, const struct endpoint *to, const uint8_t *message,
                 size_t len);
/* Ends flows that have been idle for long. */
void flow_tick(struct egress *egress, uint64_t now_us);
void flow_close_all(struct egress *egress);
/* True when everything that the program has sent is passed on. */
bool flow_all_sent(const struct egress *egress);

#endif
