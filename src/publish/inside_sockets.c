#include "publish/publish_internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOSING_US 30000000 /* for a program that does not read what was sent to it */

int inside_sockets_add(struct inside_sockets *sockets, int fd, bool v6)
{
    int number = PUBLISH_FIRST_SOCKET + (int)sockets->n;

    if (sockets->n == PUBLISH_SOCKETS || dup2(fd, number) < 0)
        return -1;
    close(fd);
    sockets->items[sockets->n++] = (struct inside_socket){ .state = INSIDE_FREE, .v6 = v6 };
    sockets->n_free4 += !v6;
    return 0;
}

int inside_sockets_seal(const struct inside_sockets *sockets)
{
    for (unsigned int i = sockets->n; i < PUBLISH_SOCKETS; i++)
        if (dup2(PUBLISH_FIRST_SOCKET, PUBLISH_FIRST_SOCKET + (int)i) < 0)
            return -1;
    return 0;
}

int inside_sockets_take(struct inside_sockets *sockets, bool v6)
{
    for (unsigned int i = 0; i < sockets->n; i++) {
        struct inside_socket *one = &sockets->items[i];

        if (one->state != INSIDE_FREE || one->v6 != v6)
            continue;
        one->state = INSIDE_USED;
        sockets->n_free4 -= !v6;
        return PUBLISH_FIRST_SOCKET + (int)i;
    }
    return -1;
}

/* A disconnected socket sends a reset in place of what its buffer still holds. */
static bool has_ended(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || info.tcpi_state == TCP_CLOSE;
}

static bool disconnect(struct inside_sockets *sockets, unsigned int i)
{
    const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

    if (connect(PUBLISH_FIRST_SOCKET + (int)i, &nowhere, sizeof(nowhere)) < 0)
        return false;
    sockets->items[i].state = INSIDE_FREE;
    sockets->n_free4 += !sockets->items[i].v6;
    return true;
}

void inside_sockets_give(struct inside_sockets *sockets, int fd, bool at_once, uint64_t now_us)
{
    unsigned int i = (unsigned int)(fd - PUBLISH_FIRST_SOCKET);

    if ((at_once || has_ended(fd)) && disconnect(sockets, i))
        return;
    sockets->items[i].state = INSIDE_CLOSING;
    sockets->items[i].since_us = now_us;
    sockets->n_closing++;
}

void inside_sockets_tick(struct inside_sockets *sockets, uint64_t now_us)
{
    for (unsigned int i = 0; sockets->n_closing && i < sockets->n; i++) {
        const struct inside_socket *one = &sockets->items[i];

        if (one->state == INSIDE_CLOSING &&
            (now_us - one->since_us > CLOSING_US || has_ended(PUBLISH_FIRST_SOCKET + (int)i)) &&
            disconnect(sockets, i))
            sockets->n_closing--;
    }
}
