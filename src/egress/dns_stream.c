#include "egress/dns_upstream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "egress/asker.h"

#define IDLE_US 30000000
#define DNS_PORT 53
#define LENGTH 2

struct dns_stream {
    struct egress *egress;
    struct link link;
    struct loop_watch watch;
    uint64_t number;
    uint64_t used_us;
    bool inside_query; /* a query is being answered: the stream stays */
    bool broken;
    size_t len;
    uint8_t bytes[LENGTH + DNS_MAX_MESSAGE];
};

bool dns_stream_is_for(const struct endpoint *asked)
{
    struct address resolver;

    return asked->port == DNS_PORT && address_parse(EGRESS_RESOLVER4, &resolver) &&
           address_equal(&asked->address, &resolver);
}

static void stream_free(struct dns_stream *s)
{
    struct egress *egress = s->egress;

    loop_close(&egress->events, &s->watch);
    link_remove(&s->link);
    free(s);
    egress->n_open--;
    listeners_rest(egress);
}

/* Bytes of the first query, including its length; 0: it is incomplete. */
static size_t first_query(const struct dns_stream *s)
{
    size_t len = s->len < LENGTH ? 0 : LENGTH + ((size_t)s->bytes[0] << 8 | s->bytes[1]);

    return len <= s->len ? len : 0;
}

static void answer_queries(struct dns_stream *s)
{
    const struct dns_asker asker = asker_keep(s->number, NULL);
    size_t len;

    s->inside_query = true;
    while (!s->broken && (len = first_query(s)) > 0) {
        dns_query(&s->egress->dns, &asker, s->bytes + LENGTH, len - LENGTH);
        s->len -= len;
        memmove(s->bytes, s->bytes + len, s->len);
    }
    s->inside_query = false;
}

static void readable(void *context, uint32_t events)
{
    struct dns_stream *s = context;
    ssize_t n = recv(s->watch.fd, s->bytes + s->len, sizeof(s->bytes) - s->len, 0);

    (void)events;
    if (n > 0) {
        s->len += (size_t)n;
        s->used_us = clock_now_us();
        answer_queries(s);
    }
    /* Full and still incomplete: too large for a query. */
    if (n <= 0 || s->broken || s->len == sizeof(s->bytes))
        stream_free(s);
}

void dns_stream_start(struct egress *egress, int take_fd)
{
    struct dns_stream *s = calloc(1, sizeof(*s));

    if (!s) {
        close(take_fd);
        return;
    }
    s->egress = egress;
    s->watch = (struct loop_watch){ .fd = take_fd, .callback = readable, .context = s };
    s->number = ++egress->last_stream;
    s->used_us = clock_now_us();
    list_prepend(&egress->streams, &s->link);
    egress->n_open++;
    if (loop_add(&egress->events, &s->watch, EPOLLIN) < 0)
        stream_free(s);
}

/* Sends all of it or closes the stream: an asker that does not read its answers gets no more. */
void dns_stream_answer(struct egress *egress, uint64_t number, const uint8_t *message, size_t len)
{
    uint8_t head[LENGTH] = { (uint8_t)(len >> 8), (uint8_t)len };
    struct iovec parts[] = { { head, sizeof(head) }, { (void *)message, len } };
    struct msghdr whole = { .msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts) };
    struct dns_stream *s = NULL;

    list_each(at, &egress->streams)
        if (link_owner(at, struct dns_stream, link)->number == number)
            s = link_owner(at, struct dns_stream, link);
    if (!s || sendmsg(s->watch.fd, &whole, MSG_NOSIGNAL) == (ssize_t)(sizeof(head) + len))
        return;
    if (s->inside_query)
        s->broken = true;
    else
        stream_free(s);
}

void dns_stream_tick(struct egress *egress, uint64_t now_us)
{
    list_each(at, &egress->streams) {
        struct dns_stream *s = link_owner(at, struct dns_stream, link);

        if (now_us - s->used_us > IDLE_US)
            stream_free(s);
    }
}
