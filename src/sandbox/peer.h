/* Who is at the other end of a local socket.
 *
 * A user id alone says little: started by an ordinary user, a program in a sandbox has that user's id on the host, and a
 * volume may show it a socket, or let it make one.  So the process at the other end has to live where we live: in our
 * user namespace and our pid namespace.  Every sandbox has others.
 *
 * The kernel remembers who called connect() or listen(), not who holds the socket now.  A program inside cannot leave
 * its namespaces, so whatever it does afterwards (pass the socket on, exec, end) makes it no better a peer; and one that
 * has ended is refused, since nothing can be learnt of it. */
#ifndef SANDBOX_PEER_H
#define SANDBOX_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

#define PEER_NAMESPACE_SIZE 32 /* "user:[4026531837]" */

/* Where a process lives.  The process that looks is looked at once, others again and again. */
struct peer_home {
    bool known; /* false: nobody is taken for a neighbour */
    char namespaces[2][PEER_NAMESPACE_SIZE];
};

/* Ours.  It is not known where /proc is not that of our own pid namespace. */
void peer_look_home(struct peer_home *ret);

/* True when the peer is of our user and lives where we live; then *ret says who it is (NULL: nobody asks). */
bool peer_is_neighbour(int fd, const struct peer_home *home, struct ucred *ret);

#endif
