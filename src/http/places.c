#include "http/fronts.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define V6_NETWORK 8 /* bytes of an address that are the network: a client has all behind them */

struct visitor_peer places_peer(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = { .v4 = { 0 } };
    socklen_t len = sizeof(address);
    struct visitor_peer peer = { 0 };

    if (getpeername(fd, &address.any, &len) < 0)
        return peer;
    if (address.any.sa_family == AF_INET)
        memcpy(peer.bytes, &address.v4.sin_addr, sizeof(address.v4.sin_addr));
    else if (address.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr))
        memcpy(peer.bytes, &address.v6.sin6_addr.s6_addr[12], sizeof(address.v4.sin_addr));
    else if (address.any.sa_family == AF_INET6)
        memcpy(peer.bytes, &address.v6.sin6_addr, V6_NETWORK);
    return peer;
}

static bool is_of(const struct visitor *v, const struct visitor_peer *peer)
{
    return !memcmp(&v->peer, peer, sizeof(*peer));
}

/* The stranger that has been idle for longest, of this address or of any; NULL: none. */
static struct visitor *find_idle(const struct server_socket *s, const struct visitor_peer *peer)
{
    list_each(at, (struct link *)&s->strangers) {
        struct visitor *v = link_owner(at, struct visitor, stranger);

        if (!v->x && !v->user && (!peer || is_of(v, peer)))
            return v;
    }
    return NULL;
}

static bool has_share(const struct server_socket *s, const struct visitor_peer *peer)
{
    unsigned int n = 0, most = s->server->options.connections_per_address;

    if (s->which != SERVER_AT_TCP || s->visitors < most) /* usual, and nothing is counted */
        return false;
    list_each(at, &s->server->visitors) {
        const struct visitor *v = link_owner(at, struct visitor, link);

        n += v->socket == s->which && is_of(v, peer);
    }
    return n >= most;
}

bool places_are_left(const struct server_socket *s)
{
    return s->visitors < s->server->options.connections || find_idle(s, NULL);
}

bool places_make_room(struct server_socket *s, const struct visitor_peer *peer)
{
    bool shared = has_share(s, peer);
    struct visitor *idle;

    if (!shared && s->visitors < s->server->options.connections)
        return true;
    idle = find_idle(s, shared ? peer : NULL);
    if (idle)
        visitor_close(idle);
    return idle;
}
