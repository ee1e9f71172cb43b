/* What egress counts, caps and notes, in the page that the supervisor reads. */
#ifndef EGRESS_ACCOUNT_H
#define EGRESS_ACCOUNT_H

#include "egress/egress_internal.h"

/* Bounded and deduplicated.  `target` is canonical already. */
void account_deny(struct egress *egress, const struct denial *one);

/* Notes what a person is asked; false: that was often enough. */
bool account_ask(struct egress *egress, const struct denial *one);

/* Counts a connection or flow before it is passed on.  False, and noted,
 * when it is one too many. */
bool account_open(struct egress *egress, const char *target);

/* Bytes that may still pass in this direction. */
uint64_t account_room(const struct egress *egress, enum direction direction);
void account_bytes(struct egress *egress, enum direction direction, uint64_t n);
/* Notes that the byte limit is reached; nothing more passes from then on. */
void account_spent(struct egress *egress, enum direction direction, const char *target);

#endif
