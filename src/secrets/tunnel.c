#include "secrets/tunnel.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "secrets/ask_proxy.h"
#include "secrets/http2.h"
#include "secrets/news.h"
#include "secrets/side.h"
#include "secrets/tls.h"

#define READ_BYTES (16 << 10)
#define OUT_MAX (2 * HTTP_MAX_HEAD + 4 * READ_BYTES)
#define ROUNDS 16
#define SHORT_HELD 4 /* fewer bytes than these look like the beginning of a text by chance */
#define SHORT_US 20000
#define LONG_US 1000000
#define TLS_HANDSHAKE 0x16
#define EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

enum tunnel_state { TUNNEL_ASKING, TUNNEL_PEEKING, TUNNEL_SHAKING, TUNNEL_OPEN };

/* One direction. */
struct half {
    struct side *from, *to;
    struct buf out;
    size_t sent; /* of `out` */
    bool ended, done;
    uint64_t held_us;           /* since when bytes are held; 0: none are */
    struct http_stream *stream; /* NULL: bytes pass as they are */
    bool (*feed)(struct rewrite *rewrite, const char *data, size_t len, struct buf *to);
};

struct tunnel {
    struct helper *helper;
    struct link link;
    enum tunnel_state state;
    enum secrets_way way;
    struct host *host; /* of SECRETS_END */
    char name[HOSTNAME_SIZE];
    uint16_t port;
    struct side inside, outside;
    struct rewrite rewrite;
    struct http2 *http2; /* NULL: the program speaks HTTP/1.1 */
    struct http_stream watched;
    struct half halves[2]; /* out, in */
    struct tls_asked asked;
    struct ask_proxy proxy;
};

static void tunnel_free(struct tunnel *t, bool reset)
{
    struct helper *helper = t->helper;

    for (size_t i = 0; i < ARRAY_LEN(t->halves); i++) {
        if (t->halves[i].out.data)
            explicit_bzero(t->halves[i].out.data, t->halves[i].out.capacity);
        buf_done(&t->halves[i].out);
    }
    http2_free(t->http2);
    if (t->host)
        rewrite_done(&t->rewrite);
    http_stream_done(&t->watched);
    ask_proxy_done(&t->proxy);
    side_close(&t->inside, &helper->events, reset);
    side_close(&t->outside, &helper->events, reset);
    link_remove(&t->link);
    helper->n_tunnels--;
    free(t);
}

static void deny(struct tunnel *t, enum denial_kind kind, const char *target, const char *rule,
                 const char *remedy)
{
    struct denial one = { .kind = kind };

    if (kind == DENIAL_CONNECT)
        one.source = DENIAL_BY_HOST;
    snprintf(one.target, sizeof(one.target), "%s", target);
    snprintf(one.rule, sizeof(one.rule), "%s", rule);
    snprintf(one.remedy, sizeof(one.remedy), "%s", remedy);
    news_deny(t->helper, &one);
}

static void deny_connection(struct tunnel *t, const char *why)
{
    char target[HOSTNAME_SIZE + 8], rule[160];

    snprintf(target, sizeof(target), strchr(t->name, ':') ? "[%s]:%u" : "%s:%u", t->name, t->port);
    snprintf(rule, sizeof(rule), DENIAL_HOST_RULE " %s", why);
    deny(t, DENIAL_CONNECT, target, rule, "");
}

/* The placeholder of a secret has left as it was. */
static void deny_secret(struct tunnel *t, unsigned int which, const char *why, bool elsewhere)
{
    const struct secret *one = &t->helper->secrets.at[which];
    char target[280], rule[160], remedy[300] = "";

    snprintf(target, sizeof(target), "%s to %.180s:%u", one->name, t->name, t->port);
    snprintf(rule, sizeof(rule), "secret %.60s: %s", one->name, why);
    if (elsewhere)
        snprintf(remedy, sizeof(remedy), "--secret %s:%s%.200s:%u", one->name,
                 t->way == SECRETS_WATCH ? "http://" : "", t->name, t->port);
    deny(t, DENIAL_SECRET, target, rule, remedy);
}

static void note_event(void *context, enum rewrite_event event, unsigned int which)
{
    struct tunnel *t = context;
    const struct secret *one = &t->helper->secrets.at[which];
    bool mine = false;

    for (size_t i = 0; i < one->n_hosts; i++)
        mine |= network_rule_is_for(&one->hosts[i], t->name, t->port);
    if (event == REWRITE_LEFT && !mine)
        deny_secret(t, which, "it is for other hosts", true);
    else if (event == REWRITE_LEFT)
        deny_secret(t, which, "it is put into headers with credentials only", false);
    else if (event == REWRITE_OTHER_HOST)
        deny_secret(t, which, "the request names another host than it was sent to", false);
}

static void note_watched(void *context, unsigned int which)
{
    deny_secret(context, which, "it is for other hosts", true);
}

static bool start_tls(struct tunnel *t)
{
    t->inside.ssl = tls_accept(t->helper, t->host->leaf, t->inside.watch.fd, &t->asked);
    return t->inside.ssl != NULL;
}

/* Once it is known what the program's client speaks. */
static bool start_outer_tls(struct tunnel *t)
{
    if (!t->outside.ssl)
        t->outside.ssl =
            tls_connect(t->helper, t->name, t->port, t->outside.watch.fd, t->asked.http2);
    if (!t->outside.ssl)
        deny_connection(t, "its certificate for clients cannot be used");
    return t->outside.ssl != NULL;
}

static bool start_http2(struct tunnel *t)
{
    t->http2 = http2_new(&t->rewrite);
    return t->http2 != NULL;
}

/* The host's end could not be made, or the program's. */
static void shake_failed(struct tunnel *t, bool outside)
{
    long verified = outside && t->outside.ssl ? SSL_get_verify_result(t->outside.ssl) : X509_V_OK;
    char why[120];

    if (t->asked.other) {
        deny_connection(t, "its TLS asks for another name");
    } else if (verified != X509_V_OK) {
        snprintf(why, sizeof(why), "its certificate is not good: %s",
                 X509_verify_cert_error_string(verified));
        deny_connection(t, why);
    } else if (outside && t->outside.ssl) {
        deny_connection(t, t->asked.http2 ? "it does not speak HTTP/2 over TLS"
                                          : "it does not speak TLS 1.2 or 1.3");
    }
    ERR_clear_error();
}

/* The first bytes say whether it is TLS or, in full, HTTP/2.  1: go on, SIDE_WAITS, SIDE_BROKEN. */
static int peek(struct tunnel *t)
{
    char first[sizeof(HTTP2_PREFACE) - 1];
    ssize_t n = recv(t->inside.watch.fd, first, sizeof(first), MSG_PEEK);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? SIDE_WAITS : SIDE_BROKEN;
    if (n == 0)
        return SIDE_BROKEN;
    if (t->host->plain && first[0] == TLS_HANDSHAKE) {
        deny_connection(t, "its secret is for HTTP without TLS");
        return SIDE_BROKEN;
    }
    if (!t->host->plain && first[0] != TLS_HANDSHAKE) {
        deny_connection(t, "its secret is for HTTP with TLS");
        return SIDE_BROKEN;
    }
    if (!t->host->plain) {
        t->state = TUNNEL_SHAKING;
        return start_tls(t) ? 1 : SIDE_BROKEN;
    }
    t->state = TUNNEL_OPEN;
    if (memcmp(first, HTTP2_PREFACE, (size_t)n) != 0)
        return 1;
    if (n == sizeof(first))
        return start_http2(t) ? 1 : SIDE_BROKEN;
    t->state = TUNNEL_PEEKING;
    return SIDE_WAITS;
}

static int ask(struct tunnel *t)
{
    char why[140];
    int r = ask_proxy_go_on(&t->proxy, &t->helper->secrets.proxy, t->outside.watch.fd, why,
                            sizeof(why));

    if (r == SIDE_BROKEN)
        deny_connection(t, why);
    if (r > 0)
        t->state = t->host ? TUNNEL_PEEKING : TUNNEL_OPEN;
    return r;
}

static int shake(struct tunnel *t)
{
    int in = side_shake(&t->inside), out = SIDE_WAITS;

    if (t->asked.known && in != SIDE_BROKEN)
        out = start_outer_tls(t) ? side_shake(&t->outside) : SIDE_BROKEN;
    if (out == 1 && t->asked.http2 && !tls_is_http2(t->outside.ssl))
        out = SIDE_BROKEN;
    if (out == SIDE_BROKEN || in == SIDE_BROKEN) {
        shake_failed(t, out == SIDE_BROKEN);
        return SIDE_BROKEN;
    }
    if (out == SIDE_WAITS || in == SIDE_WAITS)
        return SIDE_WAITS;
    t->state = TUNNEL_OPEN;
    return !t->asked.http2 || start_http2(t) ? 1 : SIDE_BROKEN;
}

static enum http2_end end_of(const struct tunnel *t, const struct half *half)
{
    return half == &t->halves[0] ? HTTP2_PROGRAM : HTTP2_HOST;
}

static bool feed(struct tunnel *t, struct half *half, const char *data, size_t len)
{
    struct buf *out = &half->out;

    if (t->http2)
        return !len || http2_feed(t->http2, end_of(t, half), data, len);
    if (half->feed)
        return half->feed(&t->rewrite, data, len, out);
    if (half->stream) /* a request to a host without secrets: its bytes stay */
        return len == 0 || http_stream_feed(half->stream, data, len, out);
    return buf_add(out, data, len) == 0;
}

/* 1: something moved, 0: waits, -1: broken. */
static int write_out(const struct tunnel *t, struct half *half)
{
    ssize_t n = side_write(half->to, half->out.data + half->sent, half->out.len - half->sent);

    if (n < 0)
        return n == SIDE_WAITS ? 0 : -1;
    half->sent += (size_t)n;
    if (half->sent == half->out.len) {
        if (half->to == &t->outside) /* a value may have been in it */
            explicit_bzero(half->out.data, half->out.len);
        half->sent = half->out.len = 0;
    }
    return 1;
}

static int finish(struct half *half)
{
    if (half->from->cut)
        shutdown(half->to->watch.fd, SHUT_WR); /* the peer sees that something is missing */
    else
        side_finish(half->to);
    half->done = true;
    return 0;
}

static void deny_unclear(struct tunnel *t, const struct half *half)
{
    char why[60];

    snprintf(why, sizeof(why), "a %s is not clear HTTP/%s",
             half == &t->halves[0] ? "request" : "reply", t->http2 ? "2" : "1.1");
    deny_connection(t, why);
}

/* What a half sends is not only what it was fed: the other one asks for more of it. */
static void take_frames(struct tunnel *t, struct half *half)
{
    enum http2_end to = end_of(t, half) == HTTP2_PROGRAM ? HTTP2_HOST : HTTP2_PROGRAM;

    if (t->http2 && !http2_take(t->http2, to, &half->out))
        half->ended = true;
}

static int step(struct tunnel *t, struct half *half)
{
    char data[READ_BYTES];
    ssize_t n;

    if (half->done)
        return 0;
    if (half->out.len == half->sent)
        take_frames(t, half);
    if (half->out.len > half->sent)
        return write_out(t, half);
    if (half->ended)
        return finish(half);
    n = side_read(half->from, data, sizeof(data));
    if (n == SIDE_WAITS)
        return 0;
    if (n < 0 || (n > 0 && !feed(t, half, data, (size_t)n))) {
        if (n > 0)
            deny_unclear(t, half);
        return -1;
    }
    if (n == 0) {
        half->ended = true;
        if (!feed(t, half, "", 0))
            half->from->cut = true;
    }
    return 1;
}

/* What may be the beginning of a value, and waits. */
static size_t held(const struct tunnel *t, const struct half *half)
{
    if (t->http2)
        return half == &t->halves[1] ? http2_held(t->http2, HTTP2_PROGRAM) : 0;
    return half->stream ? http_stream_held(half->stream) : 0;
}

/* True when it still wants a turn. */
static int move(struct tunnel *t, struct half *half)
{
    int r = 1;

    for (unsigned int i = 0; i < ROUNDS && r > 0; i++)
        r = step(t, half);
    half->held_us = held(t, half) ? (half->held_us ? half->held_us : clock_now_us()) : 0;
    return r;
}

/* True when one half has made frames for the other one, which waits for nothing else. */
static bool has_frames(const struct tunnel *t)
{
    return t->http2 &&
           ((t->halves[0].out.len == t->halves[0].sent && http2_has(t->http2, HTTP2_HOST)) ||
            (t->halves[1].out.len == t->halves[1].sent && http2_has(t->http2, HTTP2_PROGRAM)));
}

static void work(void *context, uint32_t events)
{
    struct tunnel *t = context;
    int r = 1, out, in;

    (void)events;
    if (t->state == TUNNEL_ASKING)
        r = ask(t);
    if (r > 0 && t->state == TUNNEL_PEEKING)
        r = peek(t);
    if (r > 0 && t->state == TUNNEL_SHAKING)
        r = shake(t);
    if (r == SIDE_BROKEN)
        tunnel_free(t, true);
    if (r < 0)
        return;
    out = move(t, &t->halves[0]);
    in = out < 0 ? 0 : move(t, &t->halves[1]);
    if (out < 0 || in < 0)
        tunnel_free(t, true);
    else if (t->halves[0].done && t->halves[1].done)
        tunnel_free(t, false);
    else if (out > 0 || in > 0 || has_frames(t))
        (void)loop_change(&t->helper->events, &t->outside.watch, t->outside.watch.events);
}

/* How long a half may keep what it holds: a message may end in a byte that a value begins with. */
static uint64_t due_us(const struct tunnel *t, const struct half *half)
{
    return half->held_us + (held(t, half) < SHORT_HELD ? SHORT_US : LONG_US);
}

static void release(struct tunnel *t, struct half *half)
{
    if (t->http2)
        http2_release(t->http2, HTTP2_PROGRAM);
    else
        http_stream_release(half->stream, &half->out);
    half->held_us = 0;
    (void)loop_change(&t->helper->events, &t->outside.watch, t->outside.watch.events);
}

uint64_t tunnel_tick(struct helper *helper, uint64_t now_us)
{
    uint64_t next = UINT64_MAX;

    list_each(at, &helper->tunnels) {
        struct tunnel *t = link_owner(at, struct tunnel, link);

        for (size_t i = 0; i < ARRAY_LEN(t->halves); i++) {
            struct half *half = &t->halves[i];

            if (!half->held_us)
                continue;
            if (due_us(t, half) <= now_us)
                release(t, half);
            else if (due_us(t, half) < next)
                next = due_us(t, half);
        }
    }
    return next;
}

static void set_up_halves(struct tunnel *t)
{
    struct half *out = &t->halves[0], *in = &t->halves[1];

    *out = (struct half){ .from = &t->inside, .to = &t->outside };
    *in = (struct half){ .from = &t->outside, .to = &t->inside };
    buf_init(&out->out, OUT_MAX);
    buf_init(&in->out, OUT_MAX);
    http_stream_init(&t->watched);
    if (t->host) {
        rewrite_init(&t->rewrite, &t->host->rules, note_event, t);
        out->stream = &t->rewrite.out;
        out->feed = rewrite_out;
        in->stream = &t->rewrite.in;
        in->feed = rewrite_in;
    } else if (t->way == SECRETS_WATCH) {
        t->watched.mask = &t->helper->watched;
        t->watched.only_watches = true;
        t->watched.seen = note_watched;
        t->watched.context = t;
        t->watched.state = HTTP_IN_OTHER;
        out->stream = &t->watched;
    }
}

/* NULL without memory. */
static struct tunnel *make(struct helper *helper, const struct secrets_connection *connection)
{
    struct tunnel *t = helper->n_tunnels < TUNNELS_MAX ? calloc(1, sizeof(*t)) : NULL;

    if (!t)
        return NULL;
    t->helper = helper;
    t->way = connection->way;
    memcpy(t->name, connection->name, sizeof(t->name));
    t->port = connection->port;
    t->asked.name = t->name;
    if (connection->way != SECRETS_END)
        return t;
    t->host = host_of(helper, connection->name, connection->port);
    if (t->host)
        return t;
    deny_connection(t, "no certificate could be made for it in this run");
    free(t);
    return NULL;
}

void tunnel_start(struct helper *helper, const struct secrets_connection *connection, int inside,
                  int outside)
{
    struct tunnel *t = make(helper, connection);

    if (!t) {
        close(inside);
        close(outside);
        return;
    }
    t->state = connection->by_proxy ? TUNNEL_ASKING : t->host ? TUNNEL_PEEKING : TUNNEL_OPEN;
    t->inside.watch = loop_watch_of(inside, work, t);
    t->outside.watch = loop_watch_of(outside, work, t);
    set_up_halves(t);
    list_append(&helper->tunnels, &t->link);
    helper->n_tunnels++;
    if (connection->by_proxy &&
        ask_proxy_begin(&t->proxy, &helper->secrets.proxy, t->name, t->port) < 0)
        tunnel_free(t, true);
    else if (loop_add(&helper->events, &t->inside.watch, EVENTS) < 0 ||
             loop_add(&helper->events, &t->outside.watch, EVENTS) < 0)
        tunnel_free(t, true);
}
