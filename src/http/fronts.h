/* The fronts: processes that read what clients send, one for each listener (wire/front.h). */
#ifndef HTTP_FRONTS_H
#define HTTP_FRONTS_H

#include "base/err.h"
#include "http/server.h"
#include "http/visitor.h"

/* Starts the front of a listener, which becomes the front's; certificate and key are PEM texts, or
 * NULL.  It serves after fronts_wait. */
int fronts_open(struct server *server, unsigned int which, int listener, const char *certificate,
                const char *key, sbr_error *err) must_check;
int fronts_wait(struct server *server, sbr_error *err) must_check;
/* After each turn of the loop: connections may be over, so that there is room for others. */
void fronts_run(struct server *server);
/* Starts fronts again that have ended. */
void fronts_tick(struct server *server);
/* Accepts no more, so that another gateway can have the addresses; connections stay. */
void fronts_release(struct server *server);
/* Lets them send what they have, and ends them. */
void fronts_close(struct server *server);

/* The places that a listener has for connections, and which one gives way when they are taken.
 *
 * A connection of TCP that has shown no token is a stranger's.  One that is idle gives way to a new
 * one; one that has shown a token never does. */

/* The address that a connection came from; zeros: none is known. */
struct visitor_peer places_peer(int fd);
/* False: a new connection has to wait. */
bool places_are_left(const struct server_socket *s);
/* Makes room for one from this address.  False: there is none for it. */
bool places_make_room(struct server_socket *s, const struct visitor_peer *peer);

#endif
