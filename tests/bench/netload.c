/* A server and clients for the measurements of the network.
 *
 *   netload serve ADDRESS PORT         prints "ready", then until it is ended: streams as many bytes as a client asks
 *                                      for (8 bytes, host order), or swallows them and says so; echoes datagrams
 *   netload down ADDRESS PORT BYTES    prints nanoseconds for receiving them over one connection
 *   netload up ADDRESS PORT BYTES      the same for sending
 *   netload connect ADDRESS PORT N     nanoseconds for N connections, one after the other, a byte each way
 *   netload echo ADDRESS PORT N        nanoseconds of each of N datagrams there and back, a line each
 *   netload lookup NAME N              nanoseconds of each of N lookups, a line each
 */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <err.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, BACKLOG = 1024 };

static char chunk[CHUNK];

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct sockaddr_in at(const char *address, const char *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

    if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
        errx(2, "%s is no address", address);
    return a;
}

static int connect_to(const struct sockaddr_in *a, int type)
{
    int fd = socket(AF_INET, type, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
        err(1, "connect");
    return fd;
}

static void read_exactly(int fd, void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read(fd, (char *)data + done, len - done);

        if (n <= 0)
            err(1, "the connection ended after %zu of %zu bytes", done, len);
        done += (size_t)n;
    }
}

static void write_exactly(int fd, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);

        if (n <= 0)
            err(1, "send");
        done += (size_t)n;
    }
}

/* Eight bytes say what is wanted: positive, bytes to send; negative, bytes to swallow; 0, one byte
 * back. */
static void serve_one(int fd)
{
    int64_t wanted;
    ssize_t n = recv(fd, &wanted, sizeof(wanted), MSG_WAITALL);

    if (n != (ssize_t)sizeof(wanted))
        return;
    for (int64_t left = wanted; left > 0; left -= CHUNK)
        if (send(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, MSG_NOSIGNAL) <= 0)
            return;
    for (int64_t left = -wanted; left > 0; left -= n)
        if ((n = read(fd, chunk, CHUNK)) <= 0)
            return;
    if (wanted <= 0)
        (void)!write(fd, "!", 1);
}

static void serve(const char *address, const char *port)
{
    struct sockaddr_in a = at(address, port);
    int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
    struct pollfd fds[] = { { .fd = tcp, .events = POLLIN }, { .fd = udp, .events = POLLIN } };

    setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(tcp, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(tcp, BACKLOG) < 0 ||
        bind(udp, (struct sockaddr *)&a, sizeof(a)) < 0)
        err(1, "bind");
    puts("ready");
    fflush(stdout);
    for (;;) {
        poll(fds, 2, -1);
        if (fds[1].revents) {
            struct sockaddr_in from;
            socklen_t len = sizeof(from);
            ssize_t n = recvfrom(udp, chunk, CHUNK, 0, (struct sockaddr *)&from, &len);

            sendto(udp, chunk, (size_t)n, 0, (struct sockaddr *)&from, len);
        }
        if (fds[0].revents) {
            int fd = accept(tcp, NULL, NULL);

            serve_one(fd);
            close(fd);
        }
    }
}

static void stream(const struct sockaddr_in *a, int64_t bytes, bool up)
{
    uint64_t start = now_ns();
    int fd = connect_to(a, SOCK_STREAM);
    int64_t wanted = up ? -bytes : bytes;

    write_exactly(fd, &wanted, sizeof(wanted));
    for (int64_t left = bytes; left > 0; left -= CHUNK) {
        size_t part = left < CHUNK ? (size_t)left : CHUNK;

        if (up)
            write_exactly(fd, chunk, part);
        else
            read_exactly(fd, chunk, part);
    }
    if (up)
        read_exactly(fd, chunk, 1);
    printf("%llu\n", (unsigned long long)(now_ns() - start));
}

static void connections(const struct sockaddr_in *a, long n)
{
    uint64_t start = now_ns();

    for (long i = 0; i < n; i++) {
        int fd = connect_to(a, SOCK_STREAM);
        int64_t nothing = 0;

        write_exactly(fd, &nothing, sizeof(nothing));
        read_exactly(fd, chunk, 1);
        close(fd);
    }
    printf("%llu\n", (unsigned long long)(now_ns() - start));
}

static void echoes(const struct sockaddr_in *a, long n)
{
    int fd = connect_to(a, SOCK_DGRAM);

    for (long i = 0; i < n; i++) {
        uint64_t start = now_ns();

        if (send(fd, "ping", 4, 0) != 4 || recv(fd, chunk, CHUNK, 0) != 4)
            err(1, "echo");
        printf("%llu\n", (unsigned long long)(now_ns() - start));
    }
}

static void lookups(const char *name, long n)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;

    for (long i = 0; i < n; i++) {
        uint64_t start = now_ns();

        if (getaddrinfo(name, NULL, &hints, &found) != 0)
            errx(1, "%s was not found", name);
        printf("%llu\n", (unsigned long long)(now_ns() - start));
        freeaddrinfo(found);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct sockaddr_in a;

    if (argc == 4 && !strcmp(what, "lookup")) {
        lookups(argv[2], atol(argv[3]));
        return 0;
    }
    if (argc == 4 && !strcmp(what, "serve"))
        serve(argv[2], argv[3]);
    if (argc != 5)
        errx(2, "see the head of netload.c");
    a = at(argv[2], argv[3]);
    if (!strcmp(what, "down") || !strcmp(what, "up"))
        stream(&a, atoll(argv[4]), what[0] == 'u');
    else if (!strcmp(what, "connect"))
        connections(&a, atol(argv[4]));
    else if (!strcmp(what, "echo"))
        echoes(&a, atol(argv[4]));
    else
        errx(2, "there is no '%s'", what);
    return 0;
}
