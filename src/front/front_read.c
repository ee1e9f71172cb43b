/* All that libmicrohttpd reads from a client comes through here: the two functions with which it
 * reads are defined in this program, and the dynamic linker prefers them to those of the libraries.
 * front_request.c takes no request whose head was not seen here, so that a libmicrohttpd that reads
 * in another way serves nothing. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fields.h"
#include "front/front_internal.h"

#define PROBLEM                                                                                    \
    "{\"type\":\"urn:sandbox-run:problem:bad_request\",\"title\":\"The request is malformed\","    \
    "\"status\":%u,\"detail\":\"%s\",\"code\":\"bad_request\"}"

static struct front_client **clients; /* by the fd of their connection */
static size_t n_clients;

bool front_read_watch(struct front_client *c)
{
    size_t wanted = (size_t)c->fd + 1;

    if (wanted > n_clients) {
        struct front_client **grown = realloc(clients, 2 * wanted * sizeof(struct front_client *));

        if (!grown)
            return false;
        for (size_t i = n_clients; i < 2 * wanted; i++)
            grown[i] = NULL;
        clients = grown;
        n_clients = 2 * wanted;
    }
    clients[c->fd] = c;
    return true;
}

void front_read_forget(const struct front_client *c)
{
    if (c->fd >= 0 && (size_t)c->fd < n_clients && clients[c->fd] == c)
        clients[c->fd] = NULL;
}

/* GnuTLS reads with recv, too: those bytes are not the request. */
static struct front_client *client_of(int fd, bool tls)
{
    struct front_client *c = fd >= 0 && (size_t)fd < n_clients ? clients[fd] : NULL;

    return c && c->front->tls == tls && c->stage != STAGE_SOCKET ? c : NULL;
}

void front_read_refuse(struct front_client *c)
{
    struct front_head head = { .type = FRONT_REPLY,
                               .flags = FRONT_WHOLE,
                               .status = (uint16_t)c->check.status };
    struct buf text;

    buf_init(&text, FRONT_FRAME_MAX);
    (void)fields_add(&text, FRONT_FIELD_HEADER, "Content-Type", "application/problem+json");
    head.fields_len = (uint32_t)text.len;
    buf_printf(&text, PROBLEM, c->check.status,
               c->check.status == 400
                   ? "the request line, the headers or the chunks can be read in more than one way"
                   : "the request line and the headers are larger than the gateway takes");
    if (text.failed || !front_early_send(c, &head, text.data, text.len))
        front_client_give_up(c);
    buf_done(&text);
}

/* Requests before the fault are answered first; what is behind it is never read. */
static ssize_t check(struct front_client *c, const char *data, size_t len)
{
    size_t n;

    if (c->check.status)
        return -1;
    n = front_check_feed(&c->check, data, len);
    if (!c->check.status || n)
        return (ssize_t)n;
    if (c->stage == STAGE_DRAIN || c->stage == STAGE_OVER)
        return -1;
    front_read_refuse(c);
    return -1;
}

#pragma GCC visibility push(default) /* seen by the libraries */

ssize_t recv(int fd, void *data, size_t len, int flags)
{
    ssize_t n = recvfrom(fd, data, len, flags, NULL, NULL);
    struct front_client *c = n > 0 && !(flags & MSG_PEEK) ? client_of(fd, false) : NULL;

    if (!c)
        return n;
    n = check(c, data, (size_t)n);
    if (n < 0)
        errno = EAGAIN; /* what still comes is dropped, until the client leaves or its time ends */
    return n;
}

ssize_t gnutls_record_recv(gnutls_session_t session, void *data, size_t len)
{
    unsigned char sequence[8];
    ssize_t n = gnutls_record_recv_seq(session, data, len, sequence);
    struct front_client *c = n > 0 ? client_of(gnutls_transport_get_int(session), true) : NULL;

    if (!c)
        return n;
    n = check(c, data, (size_t)n);
    return n < 0 ? GNUTLS_E_AGAIN : n;
}

#pragma GCC visibility pop
