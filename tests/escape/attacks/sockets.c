/* Sockets of the host. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

static int greet(int fd, const char *what)
{
    char answer[64] = "";

    /* Who answers may be gone before we ask: what counts is the answer. */
    (void)!send(fd, "hello", 5, MSG_NOSIGNAL);
    if (read(fd, answer, sizeof(answer) - 1) < 0)
        return not("read");
    return got("%s: %s", what, answer);
}

static int tcp(int argc, char **argv)
{
    struct sockaddr_in there = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)number(argv[1])) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)argc;
    if (fd < 0)
        return not("socket");
    inet_pton(AF_INET, argv[0], &there.sin_addr);
    if (connect(fd, (struct sockaddr *)&there, sizeof(there)) < 0)
        return not("connect");
    return greet(fd, "tcp");
}

static int tcp6(int argc, char **argv)
{
    struct sockaddr_in6 there = { .sin6_family = AF_INET6,
                                  .sin6_port = htons((uint16_t)number(argv[1])) };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);

    (void)argc;
    if (fd < 0)
        return not("socket");
    inet_pton(AF_INET6, argv[0], &there.sin6_addr);
    if (connect(fd, (struct sockaddr *)&there, sizeof(there)) < 0)
        return not("connect");
    return greet(fd, "tcp6");
}

static int udp(int argc, char **argv)
{
    struct sockaddr_in there = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)number(argv[1])) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)argc;
    if (fd < 0)
        return not("socket");
    inet_pton(AF_INET, argv[0], &there.sin_addr);
    if (sendto(fd, argv[2], strlen(argv[2]), 0, (struct sockaddr *)&there, sizeof(there)) < 0)
        return not("sendto");
    return got("sent");
}

/* A server that can be reached. */
static int listen_tcp(int argc, char **argv)
{
    struct sockaddr_in here = { .sin_family = AF_INET };
    socklen_t len = sizeof(here);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)argc;
    (void)argv;
    if (fd < 0)
        return not("socket");
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&here, len) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&here, &len) < 0)
        return not("bind");
    return outcome(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&here, len),
                   "connect");
}

static socklen_t unix_name(struct sockaddr_un *name, const char *text, int abstract)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    strncpy(name->sun_path + abstract, text, sizeof(name->sun_path) - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)abstract + strlen(text));
}

static int meet(const char *text, int abstract)
{
    struct sockaddr_un name;
    socklen_t len = unix_name(&name, text, abstract);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0)
        return not("socket");
    if (connect(fd, (struct sockaddr *)&name, len) < 0)
        return not("connect");
    return greet(fd, "unix");
}

static int meet_abstract(int argc, char **argv)
{
    (void)argc;
    return meet(argv[0], 1);
}

static int meet_path(int argc, char **argv)
{
    (void)argc;
    return meet(argv[0], 0);
}

/* Names of interfaces: anything but "lo" is the host's. */
static int interfaces(int argc, char **argv)
{
    char found[1000] = "", line[300];
    FILE *dev = fopen("/proc/self/net/dev", "r");

    (void)argc;
    (void)argv;
    if (!dev)
        return not("open");
    while (fgets(line, sizeof(line), dev)) {
        char name[IFNAMSIZ + 1];

        if (strchr(line, ':') && sscanf(line, " %16[^:]", name) == 1 && strcmp(name, "lo") != 0)
            strcat(strcat(found, name), " ");
    }
    fclose(dev);
    return found[0] ? got("%s", found) : not_because("EMPTY no interface but lo");
}

const struct attack socket_attacks[] = {
    { "tcp", tcp, 2 },
    { "tcp6", tcp6, 2 },
    { "udp", udp, 3 },
    { "listen", listen_tcp, 0 },
    { "abstract", meet_abstract, 1 },
    { "unix", meet_path, 1 },
    { "interfaces", interfaces, 0 },
    { NULL, NULL, 0 },
};
