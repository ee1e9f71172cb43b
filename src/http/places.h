/* The places that a listener has for connections, and which one gives way when they are taken.
 *
 * A connection of TCP that has shown no token is a stranger's.  One that is idle gives way to a new
 * one; one that has shown a token never does. */
#ifndef HTTP_PLACES_H
#define HTTP_PLACES_H

#include "http/server.h"

/* The address that a connection came from; zeros: none is known. */
struct visitor_peer places_peer(int fd);
/* False: a new connection has to wait. */
bool places_are_left(const struct server_socket *s);
/* Makes room for one from this address.  False: there is none for it. */
bool places_make_room(struct server_socket *s, const struct visitor_peer *peer);

#endif
