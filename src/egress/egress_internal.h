/* sandbox-run-egress: the state that all its parts share.  Only the main thread uses it, not
 * those of the resolver. */
#ifndef EGRESS_EGRESS_INTERNAL_H
#define EGRESS_EGRESS_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "base/pace.h"
#include "base/pump.h"
#include "egress/dns.h"
#include "egress/names.h"
#include "egress/packet.h"
#include "egress/resolver.h"
#include "model/network.h"
#include "model/network_proxy.h"
#include "wire/egress.h"

#define EGRESS_MAX_OPEN 256 /* connections, and as many flows */
#define EGRESS_MAX_SOCKETS 640

enum direction { DIRECTION_IN, DIRECTION_OUT, N_DIRECTIONS };

struct connection;
struct flow;
struct dns_stream;

struct listener {
    struct loop_watch watch;
    enum egress_socket kind;
    struct egress *egress;
};

struct egress {
    struct network network;
    struct network handed; /* hosts that go to sandbox-run-secrets */
    struct network once;   /* rules for connections that waited when they came */
    struct network refused;
    struct network_proxy proxy;
    bool has_secrets;
    struct loop_watch secrets_watch; /* fd -1: there is none, or it has ended */
    uint64_t secrets_cpu_us;
    uint64_t max_connections; /* LIMIT_NONE: none */
    uint64_t max_bytes[N_DIRECTIONS];
    struct pump_meter meters[N_DIRECTIONS]; /* the same, for connections */
    struct egress_page *page;
    enum egress_way way;
    struct pace pace;    /* inactive unless the program has a share */
    uint64_t started_us; /* CPU time when the sockets came          */
    uint64_t looked_us;  /* when the CPU time was read last         */

    struct loop events;
    uint64_t due_us; /* latest time of the next tick: the next address is dialled then */
    struct names names;
    struct resolver *resolver;
    struct loop_watch resolver_watch;
    struct dns dns;
    struct loop_watch upstream_watch;
    int own_fd;
    bool spent;  /* a byte limit was reached: nothing more passes */
    bool ending; /* the program has ended                         */

    struct listener listeners[EGRESS_MAX_SOCKETS];
    size_t n_listeners;
    int raw4_fd, raw6_fd; /* -1: not received */

    struct link connections, streams;
    struct link held;    /* targets of connections that wait for a person */
    unsigned int n_held; /* connections that wait for a person */
    unsigned int n_open; /* of both; the TCP listeners pause at EGRESS_MAX_OPEN */
    bool resting;
    bool starved;         /* out of fds or memory: the listeners pause for a while */
    uint64_t last_stream; /* number of the newest                                  */

    struct link flows; /* most recently used first */
    unsigned int n_flows;
    size_t pending_bytes; /* of datagrams that wait for a name */
};

#endif
