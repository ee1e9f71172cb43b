/* The process at the other end of a local socket.
 *
 * A user id is not enough: a program in the sandbox of an ordinary user has that user's id on the
 * host, and a volume may show it a socket, or let it make one.  So the peer must also be in our
 * user namespace and our pid namespace.  Every sandbox has others.
 *
 * The kernel records the process that called connect() or listen(), not the one that holds the
 * socket now.  A program inside cannot leave its namespaces, so nothing that it does later (pass
 * the socket on, exec, end) makes it acceptable.  A peer that has ended is refused, because nothing
 * can be learnt about it. */
#ifndef SANDBOX_PEER_H
#define SANDBOX_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

#define PEER_NAMESPACE_SIZE 32 /* "user:[4026531837]" */

/* The namespaces of a process.  Our own are read once, those of peers on each check. */
struct peer_home {
    bool known; /* false: no peer is accepted */
    char namespaces[2][PEER_NAMESPACE_SIZE];
};

/* Reads our own.  Not `known` where /proc does not belong to our pid namespace. */
void peer_look_home(struct peer_home *ret);

/* True when the peer has our user and our namespaces; then *ret (unless NULL) identifies it. */
bool peer_is_neighbour(int fd, const struct peer_home *home, struct ucred *ret);

/* As the kernel recorded it; 0: not known. */
pid_t peer_pid(int fd);
/* A pidfd of the peer, whose pid that is; -1 when it has ended. */
int peer_open(int fd, pid_t pid);

#endif
