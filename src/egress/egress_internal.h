/* sandbox-run-egress: the state that all its parts share.  Only the main thread uses it, not
 * those of the resolver. */
#ifndef EGRESS_EGRESS_INTERNAL_H
#define EGRESS_EGRESS_INTERNAL_H

#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/pump.h"
#include "egress/decide.h"
#include "egress/dns.h"
#include "egress/names.h"
#include "egress/resolver.h"
#include "model/address.h"
#include "model/network.h"
#include "wire/egress.h"

struct target;

/* Whole packets of IPv4 and IPv6, as raw sockets send them.  Pure. */
struct endpoint {
    struct address address;
    uint16_t port;
};

#define PACKET_HEADROOM 48 /* of IPv6 and UDP */
#define PACKET_MAX_PAYLOAD 65535
#define PACKET_QUOTED 64 /* most bytes of a datagram that an error quotes */
#define PACKET_UNREACHABLE_SIZE (40 + 8 + 48 + PACKET_QUOTED)

/* Adds bytes to a sum of RFC 1071; packet_checksum folds and inverts it. */
uint32_t packet_sum(uint32_t sum, const void *data, size_t len);
uint16_t packet_checksum(uint32_t sum);

/* Writes the headers of a datagram in front of its payload, where PACKET_HEADROOM bytes are free.
 * Both endpoints are of one family.  Returns the first byte of the packet, and its length; NULL
 * when it would be too large. */
uint8_t *packet_wrap(uint8_t *payload, size_t len, const struct endpoint *from,
                     const struct endpoint *to, size_t *ret_len);

/* Builds "port unreachable" about a datagram of `len` bytes, from the host that `from` asked for to
 * `from`.  Returns its length. */
size_t packet_unreachable(uint8_t ret[PACKET_UNREACHABLE_SIZE], const struct endpoint *from,
                          const struct endpoint *asked, const void *payload, size_t len);

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

/* Connections to hosts with secrets: sandbox-run-secrets gets the program's end, and egress carries
 * what comes out of it. */

/* Watches the link to sandbox-run-secrets; does nothing without secrets. */
int hand_on_open(struct egress *egress, sbr_error *err) must_check;
/* For a target that was decided on and dialled.  Puts a socket from sandbox-run-secrets in place of
 * the program's end where it is for one; false: it should be, and cannot. */
bool hand_on_give(const struct target *target, int *inside);

/* The TCP sockets on which the program's connections arrive. */

/* Pauses or resumes the listeners, according to how many connections are open. */
void listeners_rest(struct egress *egress);

/* Does an address lead to this host, or to a network that the host is connected to without a
 * router?  The kernel's routes are asked each time: they know secondary addresses, broadcast
 * addresses and whole ranges that are routed to lo, and they change during a run. */

/* Opens a socket for the questions. */
int own_open(int *ret_fd, sbr_error *err) must_check;
/* Takes the address for this host's own when the kernel gives no answer. */
struct whereabouts own_find(int fd, const struct address *address);

/* TCP: accepted inside, dialled outside, relayed.
 *
 *   FINDING --addresses--> DIALLING --connected--> RELAYING --both ends--> gone
 *      WAITS: for a person, where the network asks
 *      refused, not found, no address answers, an error of either side: reset */

/* Accepts what a listener has: the `ready` of its watch.  `context` is the struct listener. */
void connection_accept(void *context, uint32_t events);
/* Dials the next addresses of hosts that do not answer, and lets starved listeners try again. */
void connection_tick(struct egress *egress, uint64_t now_us);
/* No more bytes may pass in this direction: notes it, and ends all connections and flows. */
void connection_limit_reached(struct egress *egress, enum direction direction, const char *target);
/* True when everything that the program has sent is passed on. */
bool connection_all_sent(const struct egress *egress);
/* Ends all connections, whatever they have to send. */
void connection_reset_all(struct egress *egress);
/* The rules are others: connections that wait are decided anew.  `once`: a rule for those alone
 * that wait for exactly it. */
void connection_answer(struct egress *egress, const char *once);
/* Nobody will answer any more. */
void connection_refuse_held(struct egress *egress);
/* Resets connections with unsent bytes: the kernel would go on sending for them. */
void connection_give_up(struct egress *egress);

/* UDP: a flow is what one socket of the program exchanges with one address that it asked for.  Its
 * socket outside is connected, so that no other host can answer, and answers are written as whole
 * packets from the address that was asked for. */

/* Takes the datagrams that have come: the `ready` of a listener's watch.  `context` is
 * the struct listener. */
void flow_receive(void *context, uint32_t events);
/* Sends an answer of the resolver. */
void flow_answer(struct egress *egress, const struct endpoint *to, const uint8_t *message,
                 size_t len);
/* Ends flows that have been idle for long. */
void flow_tick(struct egress *egress, uint64_t now_us);
void flow_close_all(struct egress *egress);
/* True when everything that the program has sent is passed on. */
bool flow_all_sent(const struct egress *egress);

/* What egress counts, caps and notes, in the page that the supervisor reads. */

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
