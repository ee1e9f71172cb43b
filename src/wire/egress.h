/* What the supervisor, init and sandbox-run-egress send to each other.
 *
 *   supervisor --config (sealed memory), page (shared memory), alive (socket)--> egress
 *   init ------link: sockets of the sandbox's network namespace---------------> egress
 *
 * Over `alive`, whose messages keep their bounds, the supervisor sends what a person decided: an
 * enum egress_order, then the bytes of a network with one rule.  Egress answers one byte: 1 when it
 * holds.
 * The supervisor shuts `alive` down for writing when the program has ended: egress passes on what
 * the program has sent already, and exits.  It also exits when the supervisor is gone. */
#ifndef WIRE_EGRESS_H
#define WIRE_EGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "model/denial.h"
#include "model/network.h"

#define EGRESS_NAME "sandbox-run-egress"

/* File descriptors that egress finds open; it has no others. */
enum egress_fd {
    EGRESS_LINK,
    EGRESS_ALIVE,
    EGRESS_CONFIG,
    EGRESS_PAGE,
    N_EGRESS_FDS,
    EGRESS_SECRETS = N_EGRESS_FDS, /* only with secrets: the link to sandbox-run-secrets */
};

/* How the sandbox's connections reach the listeners, best first. */
enum egress_way {
    WAY_TPROXY,   /* everything; a socket's own name is the requested address                */
    WAY_REDIRECT, /* all of TCP (SO_ORIGINAL_DST); UDP as with WAY_PORTS                     */
    WAY_PORTS,    /* no netfilter: one listener per port that the rules name, or common ones */
    N_EGRESS_WAYS
};

/* What a passed socket is for.  All are nonblocking; TCP ones listen. */
enum egress_socket {
    SOCKET_TCP,     /* accepts outgoing connections, either family                             */
    SOCKET_UDP,     /* receives outgoing datagrams; IP_RECVORIGDSTADDR or its IPv6 twin is set */
    SOCKET_RAW4,    /* sends whole IPv4 packets inwards (IP_HDRINCL)                           */
    SOCKET_RAW6,    /* the same for IPv6 (IPV6_HDRINCL)                                        */
    SOCKET_FORWARD, /* TCP, on a loopback port inside that a rule opens to the host's loopback */
    N_EGRESS_SOCKETS
};

enum egress_order {
    EGRESS_ALLOW,      /* from now on */
    EGRESS_ALLOW_ONCE, /* connections that wait for exactly this, and no later one */
    EGRESS_REFUSE,     /* exactly this, without waiting */
    EGRESS_REFUSE_ALL, /* that no rule allows; the rule of the message does not count */
    N_EGRESS_ORDERS
};

/* How long a connection waits for a person, and how many at once.  More are refused. */
#define EGRESS_HOLD_SECONDS 120
#define EGRESS_MAX_HELD 64

/* One message over the link, with `n` file descriptors.  `last`: no more messages follow. */
#define EGRESS_MESSAGE_FDS 16
struct egress_message {
    uint32_t way;
    uint32_t last;
    uint32_t n;
    uint32_t kinds[EGRESS_MESSAGE_FDS]; /* enum egress_socket */
};

/* Written by egress alone; the supervisor reads it after the run. */
struct egress_page {
    _Atomic uint64_t connections; /* TCP connections and UDP flows that were passed on */
    _Atomic uint64_t refused;
    _Atomic uint64_t names;    /* looked up outside */
    _Atomic uint64_t bytes_in; /* to the program    */
    _Atomic uint64_t bytes_out;
    _Atomic uint64_t cpu_us;  /* CPU time after the sockets came; a little late */
    _Atomic uint32_t way;     /* enum egress_way, once the sockets have come    */
    _Atomic uint32_t started; /* 1: the sockets have come                       */
    _Atomic uint64_t denials_dropped;
    _Atomic uint32_t n_denials; /* incremented after the entry is complete */
    sbr_error error;            /* why it could not work; code 0: it could */
    struct denial denials[DENIALS_MAX];
    _Atomic uint32_t n_asked;         /* incremented after the entry is complete */
    struct denial asked[DENIALS_MAX]; /* what connections wait for; no refusal yet */
};

#endif
