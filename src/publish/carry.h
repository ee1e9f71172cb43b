/* Connections: each from a client on the host's loopback to a port of the sandbox's. */
#ifndef PUBLISH_CARRY_H
#define PUBLISH_CARRY_H

#include "publish/publish_internal.h"

/* Callback of a struct publish_listener. */
void carry_accept(void *context, uint32_t events);
/* Ends what could not be connected in time; lets the listeners go on when they can. */
void carry_tick(struct publisher *publisher, uint64_t now_us);
/* Nothing is connected or about to be. */
bool carry_is_idle(const struct publisher *publisher);
/* Clients have all that the program sent. */
bool carry_all_sent(const struct publisher *publisher);
/* Resets the others, so that no client takes a part for the whole. */
void carry_give_up(struct publisher *publisher);

#endif
