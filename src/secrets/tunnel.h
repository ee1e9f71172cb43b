/* One connection of the program, with the secrets' host or with the way out to another.
 *
 *   ASKING --the proxy says yes--> PEEKING; without a proxy it begins there
 *   PEEKING --TLS or not--> SHAKING --both ends--> OPEN --both directions--> gone
 *      the program's TLS is for another name, the host's certificate is not good: reset */
#ifndef SECRETS_TUNNEL_H
#define SECRETS_TUNNEL_H

#include "secrets/helper.h"

/* Takes both file descriptors. */
void tunnel_start(struct helper *helper, const struct secrets_connection *connection, int inside,
                  int outside);
/* Passes on what waits too long for the rest of a text; when to call again, or UINT64_MAX. */
uint64_t tunnel_tick(struct helper *helper, uint64_t now_us);

#endif
