/* Asks the host's resolver over UDP, by connected sockets: they receive nothing from other
 * senders, and a missing server is reported at once.  Each question has a number of its
 * own and is built anew. */
#include "egress/dns_upstream.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fd.h"

#define MAX_FORWARDS 64
#define MAX_RESOLV_CONF 8192
#define DNS_PORT 53
#define MAX_RECEIVED_AT_ONCE 64 /* then other sockets have their turn */

/* A question is repeated after TRY_US, to the next server, and given up before a program's own
 * library would (5 s in glibc's). */
#define TRY_US 2000000
#define GIVE_UP_US 4500000
#define MAX_TRIES 2

struct forward {
    unsigned int tries; /* 0: free */
    bool probe;         /* has no asker: dns_probe() */
    uint16_t id;
    unsigned int server;
    uint64_t asked_us;
    struct dns_asker asker;
    struct dns_question question;
};

struct dns_forwards {
    int sockets[DNS_MAX_SERVERS];
    unsigned int n_servers;
    struct forward items[MAX_FORWARDS];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Reads the address of one line; false: it has none. */
static bool read_server(const char *line, size_t len, struct address *ret)
{
    static const char keyword[] = "nameserver";
    char text[ADDRESS_TEXT_SIZE];
    size_t at = sizeof(keyword) - 1, end;

    if (len <= at || memcmp(line, keyword, at) != 0 || !is_blank(line[at]))
        return false;
    while (at < len && is_blank(line[at]))
        at++;
    for (end = at; end < len && !is_blank(line[end]) && line[end] != '\r'; end++)
        ;
    if (end - at >= sizeof(text))
        return false;
    memcpy(text, line + at, end - at);
    text[end - at] = '\0';
    return address_parse(text, ret);
}

size_t dns_servers_read(const char *text, struct address ret[DNS_MAX_SERVERS])
{
    size_t n = 0;

    while (*text && n < DNS_MAX_SERVERS) {
        size_t len = strcspn(text, "\n");

        if (read_server(text, len, &ret[n]))
            n++;
        text += len + (text[len] == '\n');
    }
    if (n == 0 && address_parse("127.0.0.1", &ret[0]))
        n = 1;
    return n;
}

static size_t find_servers(struct address ret[DNS_MAX_SERVERS])
{
    scoped_fd int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[MAX_RESOLV_CONF];
    ssize_t n = fd < 0 ? 0 : fd_read_full(fd, text, sizeof(text) - 1);

    text[n < 0 ? 0 : n] = '\0';
    return dns_servers_read(text, ret);
}

static int open_server(const struct address *server, int epoll_fd, unsigned int number)
{
    struct sockaddr_storage to;
    socklen_t len = address_to_socket(server, DNS_PORT, &to);
    scoped_fd int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, len) < 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return -1;
    return take_fd(fd);
}

/* One file descriptor for the loop, whatever the number of servers. */
static bool forwards_open(struct dns *dns)
{
    struct address servers[DNS_MAX_SERVERS];
    scoped_fd int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    scoped_free struct dns_forwards *forwards = calloc(1, sizeof(*forwards));
    size_t n = find_servers(servers);

    if (epoll_fd < 0 || !forwards)
        return false;
    for (size_t i = 0; i < n; i++) {
        int fd = open_server(&servers[i], epoll_fd, forwards->n_servers);

        if (fd >= 0)
            forwards->sockets[forwards->n_servers++] = fd;
    }
    if (forwards->n_servers == 0)
        return false;
    dns->upstream_fd = take_fd(epoll_fd);
    dns->forwards = take_ptr(forwards);
    return true;
}

void dns_forwards_free(struct dns *dns)
{
    if (!dns->forwards)
        return;
    for (unsigned int i = 0; i < dns->forwards->n_servers; i++)
        close(dns->forwards->sockets[i]);
    close(dns->upstream_fd);
    free(dns->forwards);
    dns->forwards = NULL;
    dns->upstream_fd = -1;
}

static struct forward *find_forward(struct dns_forwards *forwards, unsigned int server, uint16_t id)
{
    for (size_t i = 0; i < MAX_FORWARDS; i++) {
        struct forward *one = &forwards->items[i];

        if (one->tries && one->server == server && one->id == id)
            return one;
    }
    return NULL;
}

/* Asks the next servers until one accepts the question or the tries are used up. */
static bool forward_send(struct dns_forwards *forwards, struct forward *one)
{
    uint8_t message[DNS_MAX_FORWARD];

    while (one->tries < MAX_TRIES || (one->probe && one->tries < forwards->n_servers)) {
        size_t len;
        uint16_t id;

        /* The number is unpredictable; two equal ones would be confused with each other. */
        if (getrandom(&id, sizeof(id), 0) != sizeof(id))
            return false;
        one->server = one->tries % forwards->n_servers;
        if (find_forward(forwards, one->server, id))
            continue;
        one->tries++;
        one->id = id;
        len = dns_wire_forward(&one->question, id, message);
        if (send(forwards->sockets[one->server], message, len, MSG_NOSIGNAL) == (ssize_t)len)
            return true;
    }
    return false;
}

static void forward_fail(struct dns *dns, struct forward *one)
{
    uint8_t message[DNS_MAX_OWN_ANSWER];
    struct dns_asker asker = one->asker; /* its slot may be reused while the asker is answered */
    size_t len = dns_wire_answer(&one->question, DNS_SERVFAIL, NULL, message);

    one->tries = 0;
    if (one->probe) {
        struct dns_question asked = one->question;

        dns->probe_failed(dns, asked.name);
        return;
    }
    dns->answer(dns->context, &asker, message, len);
}

static bool ask(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q,
                bool probe)
{
    struct forward *room = NULL;

    if (!dns->forwards && !forwards_open(dns))
        return false;
    for (size_t i = 0; i < MAX_FORWARDS; i++) {
        struct forward *one = &dns->forwards->items[i];

        if (one->tries && one->probe == probe && dns_wire_same(&one->question, q) &&
            memcmp(&one->asker, asker, sizeof(*asker)) == 0)
            return true; /* repeated by the asker: one answer is enough */
        if (!one->tries && !room)
            room = one;
    }
    if (!room)
        return false;
    *room = (struct forward){
        .asked_us = clock_now_us(), .probe = probe, .asker = *asker, .question = *q
    };
    if (forward_send(dns->forwards, room))
        return true;
    room->tries = 0;
    return false;
}

bool dns_forward(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q)
{
    return ask(dns, asker, q, false);
}

void dns_probe(struct dns *dns, const struct dns_question *q)
{
    static const struct dns_asker none;

    (void)ask(dns, &none, q, true);
}

/* A server that fails may have a better neighbour. */
static void probe_answered(struct dns *dns, struct forward *one, enum dns_rcode rcode)
{
    if (rcode != DNS_SERVFAIL && rcode != DNS_REFUSED)
        one->tries = 0;
    else if (!forward_send(dns->forwards, one))
        forward_fail(dns, one);
}

/* The server is gone: questions that wait for it go to the next one, or fail. */
static void server_gone(struct dns *dns, unsigned int server)
{
    for (size_t i = 0; i < MAX_FORWARDS; i++) {
        struct forward *one = &dns->forwards->items[i];

        if (one->tries && one->server == server && !forward_send(dns->forwards, one))
            forward_fail(dns, one);
    }
}

static void receive(struct dns *dns, unsigned int server)
{
    uint8_t message[DNS_MAX_MESSAGE];

    for (int i = 0; i < MAX_RECEIVED_AT_ONCE; i++) {
        ssize_t len = recv(dns->forwards->sockets[server], message, sizeof(message), MSG_TRUNC);
        struct dns_asker asker;
        struct forward *one;

        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (len < 0) {
            server_gone(dns, server);
            return;
        }
        if (len < DNS_HEADER || len > (ssize_t)sizeof(message))
            continue;
        one = find_forward(dns->forwards, server, (uint16_t)(message[0] << 8 | message[1]));
        if (!one || !dns_wire_accept(&one->question, one->id, message, (size_t)len))
            continue;
        if (one->probe) {
            probe_answered(dns, one, (enum dns_rcode)(message[3] & 0xf));
            continue;
        }
        one->tries = 0;
        asker = one->asker;
        dns->answer(dns->context, &asker, message, (size_t)len);
    }
}

void dns_upstream(struct dns *dns)
{
    for (unsigned int i = 0; dns->forwards && i < dns->forwards->n_servers; i++)
        receive(dns, i);
}

void dns_forwards_tick(struct dns *dns, uint64_t now_us)
{
    for (size_t i = 0; dns->forwards && i < MAX_FORWARDS; i++) {
        struct forward *one = &dns->forwards->items[i];
        uint64_t waited = one->tries && now_us > one->asked_us ? now_us - one->asked_us : 0;

        if (waited >= GIVE_UP_US && one->probe)
            one->tries = 0; /* silence is for the lookup itself to give up */
        else if (waited >= GIVE_UP_US ||
                 (waited >= TRY_US && one->tries < MAX_TRIES && !forward_send(dns->forwards, one)))
            forward_fail(dns, one);
    }
}
