/* Answers a program without a network that wants to reach an address: reads the address from its
 * memory, notes it, and replies that there is no route.
 *
 * Names: the resolver in /etc/resolv.conf does not exist.  A C library's connect to it succeeds,
 * because the library sends its question only then; the question is noted and fails at once.  Other
 * callers get an error: otherwise they would report a socket without a destination. */
#include <ctype.h>
#include <errno.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "model/address.h"
#include "model/network.h"
#include "monitor/seccomp_notify.h"

#define PORT_OF_NAMES 53
#define DNS_HEAD 12
#define DNS_PACKET 512
#define LIBRARY_LOOKS 64 /* reading a process's map is slow, and the program decides how often */
#define MAP_LINES 2000
#define LOOPBACK_LOOKS 64
#define SOCKET_LINES 1000

static const struct notify_answer go_on = { .go_on = true }, no_way = { .error = ENETUNREACH },
                                  success = { .error = 0 };

static const char *rule_of(const struct seccomp_notify *n)
{
    return n->plan->network == NETWORK_LOCALHOST ? "network: localhost" : "network: none";
}

/* Bytes that could be read; -1 with errno. */
static ssize_t peek(const struct seccomp_notif *notif, uint64_t at, void *to, size_t len)
{
    struct iovec here = { .iov_base = to, .iov_len = len };
    struct iovec there = { .iov_base = (void *)(uintptr_t)at, .iov_len = len };

    return process_vm_readv((pid_t)notif->pid, &here, 1, &there, 1, 0);
}

/* The parts of an address that matter; AF_UNSPEC: there is none, or it cannot be read. */
struct place_wanted {
    sa_family_t family;
    struct address address;
    uint16_t port;
};

/* Where memory is unreadable, the length distinguishes internet addresses from most others. */
static bool looks_like_internet(uint64_t len)
{
    return len == sizeof(struct sockaddr_in) || len == sizeof(struct sockaddr_in6);
}

/* False when the calling process is gone. */
static bool read_place(struct seccomp_notify *n, const struct seccomp_notif *notif, uint64_t at,
                       uint64_t len, struct place_wanted *ret)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    } sa = { .storage = { 0 } };
    ssize_t got =
        peek(notif, at, &sa, len < sizeof(struct sockaddr_in6) ? len : sizeof(struct sockaddr_in6));
    int why = errno;

    *ret = (struct place_wanted){ .family = AF_UNSPEC };
    if (!seccomp_notify_is_valid(n, notif))
        return false;
    if (got >= (ssize_t)sizeof(sa.any.sa_family)) {
        ret->family = sa.any.sa_family;
        (void)address_from_socket(&sa.any, &ret->address, &ret->port);
    } else if (got < 0 && why != EFAULT && looks_like_internet(len)) {
        denials_note(n->denials, DENIAL_CONNECT, rule_of(n), "--network allow --allow-host HOST",
                     "an internet address");
    }
    return true;
}

static bool is_internet(const struct place_wanted *place)
{
    return place->family == AF_INET || place->family == AF_INET6;
}

/* Hexadecimal "...:PORT" of a local address, then the state: 0A listens, 07 is open for UDP. */
static bool is_open_line(const char *line, uint16_t port)
{
    unsigned int local, state;

    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes four and two digits */
    return sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) == 2 &&
           local == port && (state == 0x0a || state == 0x07);
}

/* True when a process in the network namespace of `pid` waits at this port. */
static bool is_served_inside(pid_t pid, uint16_t port)
{
    static const char *const tables[] = { "tcp", "tcp6", "udp", "udp6" };
    bool found = false;

    for (size_t i = 0; i < ARRAY_LEN(tables) && !found; i++) {
        char path[40], line[256];
        FILE *table;

        snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
        table = fopen(path, "re");
        for (int k = 0; table && !found && k < SOCKET_LINES && fgets(line, sizeof(line), table);
             k++)
            found = is_open_line(line, port);
        if (table)
            fclose(table);
    }
    return found;
}

static void format_place(const struct place_wanted *place, char *target, size_t size)
{
    char text[ADDRESS_TEXT_SIZE];

    address_format(&place->address, text);
    snprintf(target, size, address_is_v4(&place->address) ? "%s:%u" : "[%s]:%u", text, place->port);
}

/* The first of them also looks whether a process inside serves the port; the others cost less. */
static bool is_for_inside(struct seccomp_notify *n, const struct place_wanted *place)
{
    return n->loopback_looks++ < LOOPBACK_LOOKS && is_served_inside(n->init, place->port);
}

/* Ignores port 0: with it, C libraries ask the kernel which of their addresses it would use. */
static void note_place(struct seccomp_notify *n, const struct place_wanted *place)
{
    char target[ADDRESS_TEXT_SIZE + 8], remedy[120] = "";
    enum address_class class = address_outer_class(&place->address);

    if (place->port == 0)
        return;
    format_place(place, target, sizeof(target));
    if (class == ADDRESS_LOOPBACK && is_for_inside(n, place))
        snprintf(remedy, sizeof(remedy), "--network localhost");
    else if (class == ADDRESS_LOOPBACK)
        snprintf(remedy, sizeof(remedy), "--network allow --allow-host localhost:%u", place->port);
    else if (class != ADDRESS_MULTICAST)
        snprintf(remedy, sizeof(remedy), "--network allow --allow-host %s", target);
    denials_note(n->denials, DENIAL_CONNECT, rule_of(n), remedy, "%s", target);
}

/* The name of the first question, or false.  Questions are never compressed. */
static bool question_name(const uint8_t *packet, size_t len, char *name, size_t size)
{
    size_t at = DNS_HEAD, used = 0;

    /* A question with at least one name, not an answer. */
    if (len <= DNS_HEAD || packet[2] & 0x80 || (packet[4] == 0 && packet[5] == 0))
        return false;
    while (at < len && packet[at] != 0) {
        size_t label = packet[at++];

        if (label > 63 || at + label >= len || used + label + 2 > size)
            return false;
        if (used)
            name[used++] = '.';
        for (size_t i = 0; i < label; i++)
            name[used++] = (char)tolower(packet[at++]);
    }
    name[used] = '\0';
    return used > 0 && at < len && strlen(name) == used;
}

static bool note_question(struct seccomp_notify *n, const struct seccomp_notif *notif, uint64_t at,
                          uint64_t len)
{
    uint8_t packet[DNS_PACKET];
    ssize_t got = peek(notif, at, packet, len < sizeof(packet) ? len : sizeof(packet));
    char name[256], canonical[HOSTNAME_SIZE], remedy[300] = "";

    if (got < 0 || !seccomp_notify_is_valid(n, notif) ||
        !question_name(packet, (size_t)got, name, sizeof(name)))
        return false;
    if (hostname_canonical(name, strlen(name), canonical))
        snprintf(remedy, sizeof(remedy), "--network allow --allow-host %s", canonical);
    denials_note(n->denials, DENIAL_NAME, rule_of(n), remedy, "%s", name);
    n->names_seen++;
    return true;
}

static bool is_resolver(const struct place_wanted *place)
{
    struct address resolver;

    return place->port == PORT_OF_NAMES && address_parse(EGRESS_RESOLVER4, &resolver) &&
           address_equal(&place->address, &resolver);
}

/* True for a /proc/PID/maps line ("FROM-TO rights ... PATH") of a C library around `at`. */
static bool is_library_at(const char *line, uint64_t at)
{
    const char *base = strrchr(line, '/');
    char *end;
    uint64_t from = strtoull(line, &end, 16);

    if (!base || *end != '-' || at < from || at >= strtoull(end + 1, NULL, 16))
        return false;
    return !strncmp(base, "/libc.so", 8) || !strncmp(base, "/libc-2", 7);
}

static bool asks_by_library(const struct seccomp_notif *notif)
{
    char path[40], line[512];
    bool found = false;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%u/maps", notif->pid);
    maps = fopen(path, "re");
    if (!maps)
        return false;
    for (int i = 0; !found && i < MAP_LINES && fgets(line, sizeof(line), maps); i++)
        found = is_library_at(line, notif->data.instruction_pointer);
    fclose(maps);
    return found;
}

/* Local addresses always continue.  Where a test build has left the namespace out, what cannot be
 * read does not. */
static struct notify_answer on_other(const struct seccomp_notify *n,
                                     const struct place_wanted *place)
{
    return place->family != AF_UNSPEC || n->plan->namespaces & CLONE_NEWNET ? go_on : no_way;
}

/* Loopback inside, where it is up. */
static bool is_reachable(const struct seccomp_notify *n, const struct place_wanted *place)
{
    return n->plan->network == NETWORK_LOCALHOST && n->plan->namespaces & CLONE_NEWNET &&
           address_outer_class(&place->address) == ADDRESS_LOOPBACK;
}

/* Remembers a port of loopback at which nothing waits inside: should the program fail, it may have
 * meant the host's. */
static void look_for_server(struct seccomp_notify *n, const struct place_wanted *place)
{
    if (n->loopback_looks++ >= LOOPBACK_LOOKS || place->port == 0)
        return;
    if (!is_served_inside(n->init, place->port))
        n->unserved_port = place->port;
    else if (n->unserved_port == place->port)
        n->unserved_port = 0;
}

static struct notify_answer on_connect(struct seccomp_notify *n, const struct seccomp_notif *notif,
                                       const struct place_wanted *place)
{
    if (is_reachable(n, place)) {
        look_for_server(n, place);
        return go_on;
    }
    if (!is_resolver(place)) {
        note_place(n, place);
        return no_way;
    }
    if (n->lookups_seen++ >= LIBRARY_LOOKS || !asks_by_library(notif))
        return no_way;
    n->lookups[n->next_lookup++ % NOTIFY_LOOKUPS] =
        (struct notify_lookup){ (pid_t)notif->pid, (int)notif->data.args[0] };
    return success;
}

/* Removes the lookup: it asks once. */
static bool is_lookup(struct seccomp_notify *n, const struct seccomp_notif *notif)
{
    for (size_t i = 0; i < NOTIFY_LOOKUPS; i++) {
        struct notify_lookup *lookup = &n->lookups[i];

        if (lookup->task != (pid_t)notif->pid || lookup->fd != (int)notif->data.args[0])
            continue;
        lookup->task = 0;
        return true;
    }
    return false;
}

struct packet_wanted {
    uint64_t name, name_len;
    uint64_t data, len;
};

/* Reads the first message only: they come in pairs, one for each family. */
static bool read_messages(const struct seccomp_notif *notif, struct packet_wanted *ret)
{
    struct mmsghdr message;
    struct iovec part = { 0 };

    if (peek(notif, notif->data.args[1], &message, sizeof(message)) != (ssize_t)sizeof(message))
        return false;
    if (message.msg_hdr.msg_iovlen > 0)
        (void)peek(notif, (uintptr_t)message.msg_hdr.msg_iov, &part, sizeof(part));
    *ret = (struct packet_wanted){ (uintptr_t)message.msg_hdr.msg_name, message.msg_hdr.msg_namelen,
                                   (uintptr_t)part.iov_base, part.iov_len };
    return true;
}

static struct notify_answer on_packet(struct seccomp_notify *n, const struct seccomp_notif *notif,
                                      const struct packet_wanted *packet)
{
    struct place_wanted place;

    if (!packet->name) {
        if (!is_lookup(n, notif))
            return go_on; /* a socket pair, or a socket without a destination */
        (void)note_question(n, notif, packet->data, packet->len);
        return no_way;
    }
    if (!read_place(n, notif, packet->name, packet->name_len, &place))
        return no_way;
    if (!is_internet(&place))
        return on_other(n, &place);
    if (is_reachable(n, &place))
        return go_on;
    if (place.port != PORT_OF_NAMES || !note_question(n, notif, packet->data, packet->len))
        note_place(n, &place);
    return no_way;
}

static struct notify_answer answer_network(struct seccomp_notify *n,
                                           const struct seccomp_notif *notif)
{
    const __u64 *args = notif->data.args;
    struct packet_wanted packet = { args[4], args[5], args[1], args[2] };
    struct place_wanted place;

    switch (notif->data.nr) {
    case SYS_connect:
        if (!read_place(n, notif, args[1], args[2], &place))
            return no_way;
        return is_internet(&place) ? on_connect(n, notif, &place) : on_other(n, &place);
    case SYS_sendmmsg:
        if (!read_messages(notif, &packet))
            return go_on;
        return on_packet(n, notif, &packet);
    case SYS_sendto:
        return on_packet(n, notif, &packet);
    default:
        return no_way;
    }
}

/* What continues runs in a network namespace without a route, even if the memory has changed. */
struct notify_answer notify_network(struct seccomp_notify *n, const struct seccomp_notif *notif)
{
    if (network_goes_outside(n->plan->network))
        return go_on;
    return answer_network(n, notif);
}

void notify_unserved(struct seccomp_notify *n)
{
    char remedy[80];

    if (!n->unserved_port)
        return;
    snprintf(remedy, sizeof(remedy), "--network allow --allow-host localhost:%u", n->unserved_port);
    denials_note(n->denials, DENIAL_CONNECT,
                 "network: localhost (the sandbox's own, where nothing waits at this port)", remedy,
                 "localhost:%u", n->unserved_port);
}

void notify_unnamed(struct seccomp_notify *n)
{
    denials_note(n->denials, DENIAL_NAME, rule_of(n), "--network allow --allow-host NAME",
                 DENIAL_SOME_NAME);
}
