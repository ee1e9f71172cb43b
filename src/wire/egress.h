/* What supervisor, init and sandbox-run-egress say to each other.
 *
 *   supervisor --config (sealed memory), page (shared memory), alive (socket)--> egress
 *   init ------link: sockets of the sandbox's network namespace---------------> egress
 *
 * The supervisor ends `alive` for writing when the program is over: egress passes on what the program has sent
 * already, and exits.  It also exits when the supervisor is gone. */
#ifndef WIRE_EGRESS_H
#define WIRE_EGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "model/denial.h"
#include "model/inside_network.h"

#define EGRESS_NAME "sandbox-run-egress"

/* Descriptors that egress finds open; it has no others. */
enum egress_fd { EGRESS_LINK, EGRESS_ALIVE, EGRESS_CONFIG, EGRESS_PAGE, N_EGRESS_FDS };

/* How the sandbox's connections come to the listeners, best first. */
enum egress_way {
    WAY_TPROXY,   /* everything; a socket's own name is the address that was asked for          */
    WAY_REDIRECT, /* all of TCP (SO_ORIGINAL_DST); UDP as in the next one                       */
    WAY_PORTS,    /* no netfilter: one listener for each port that the rules name, or common ones */
    N_EGRESS_WAYS
};

/* What a passed socket is for.  All are nonblocking; TCP ones listen. */
enum egress_socket {
    SOCKET_TCP,     /* accepts what goes outside, either family                    */
    SOCKET_UDP,     /* receives what goes outside; IP_RECVORIGDSTADDR or its IPv6 twin is set */
    SOCKET_RAW4,    /* sends whole IPv4 packets inwards (IP_HDRINCL)                */
    SOCKET_RAW6,    /* the same for IPv6 (IPV6_HDRINCL)                             */
    SOCKET_FORWARD, /* TCP, on a loopback port inside that a rule opens to the host's */
    N_EGRESS_SOCKETS
};

/* One message over the link; as many descriptors as `n` come with it.  `last`: no more will come. */
#define EGRESS_MESSAGE_FDS 16
struct egress_message {
    uint32_t way;
    uint32_t last;
    uint32_t n;
    uint32_t kinds[EGRESS_MESSAGE_FDS]; /* enum egress_socket */
};

/* Written by egress alone, read by the supervisor when the run is over. */
struct egress_page {
    _Atomic uint64_t connections; /* TCP connections and UDP flows that were passed on */
    _Atomic uint64_t refused;
    _Atomic uint64_t names;    /* looked up outside                            */
    _Atomic uint64_t bytes_in; /* to the program                               */
    _Atomic uint64_t bytes_out;
    _Atomic uint64_t
        cpu_us;           /* processor time that it took, since the sockets came; a little late */
    _Atomic uint32_t way; /* enum egress_way, once the sockets have come   */
    _Atomic uint32_t started; /* 1: the sockets have come                      */
    _Atomic uint64_t denials_dropped;
    _Atomic uint32_t n_denials; /* grown after the entry is complete             */
    sbr_error error;            /* why it could not do its work; code 0: it could */
    struct denial denials[DENIALS_MAX];
};

#endif
