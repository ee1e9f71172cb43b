/* Clients of a session: lines of JSON over its socket, both ways.  Only processes of the same user
 * and outside of every sandbox are served. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "session/supervisor.h"

#define LINE_MAX_BYTES ((size_t)112 << 20) /* a cell of FRAME_PAYLOAD_MAX, each byte escaped */
#define OUT_MAX ((size_t)256 << 20)        /* more than the longest answer and BACKLOG_ASKING */
/* What a client has not read: when its cell's output is held up, also while the cell is being
 * stopped, and when nothing more is read from it. */
#define BACKLOG_MOST ((size_t)1 << 20)
#define BACKLOG_STOPPED ((size_t)8 << 20)
#define BACKLOG_ASKING ((size_t)32 << 20)
#define READ_SIZE ((size_t)64 * 1024)
#define NEW_SOCKET SESSION_SOCKET ".new"
#define BACKLOG 64
#define CONNECTIONS_MAX 64
#define ACCEPT_PAUSE_US 100000 /* without descriptors */

struct connection {
    struct loop_garbage garbage;
    struct link link;
    struct session *session;
    struct loop_watch watch;
    struct buf in, out;
    size_t sent; /* of `out`, which begins with that */
    bool holds;  /* the session ends with it */
    bool asked;  /* for a cell, at least once */
    bool left;   /* it was interrupted before that */
    bool waits;  /* for its turn, with this: */
    struct cell_request request;
    char *later;                 /* a line that waits for the end of a question; NULL: none */
    int given[CONNECTION_GIVEN]; /* file descriptors that came with a line; only to a spare */
    size_t n_given;
};

static void close_given(struct connection *c)
{
    while (c->n_given)
        close(c->given[--c->n_given]);
}

bool connection_take_given(struct connection *c, int ret[CONNECTION_GIVEN])
{
    if (c->n_given != CONNECTION_GIVEN)
        return false;
    memcpy(ret, c->given, sizeof(c->given));
    c->n_given = 0;
    return true;
}

static void forget(struct session *s, struct connection *c)
{
    if (s->cell && s->cell->client == c) {
        s->cell->client = NULL; /* the cell goes on */
        s->hooks->input_left(s);
        connection_let_output_go(s);
    }
    if (s->asking == c)
        s->asking = NULL;
    if (s->package && s->package->client == c)
        s->package->client = NULL;
    if (s->starting == c)
        s->starting = NULL;
    for (size_t i = 0; i < KERNELS_MAX; i++)
        if (s->kernels[i].starter == c)
            s->kernels[i].starter = NULL;
    list_each(at, &s->copies)
        if (link_owner(at, struct session_copy, link)->client == c)
            link_owner(at, struct session_copy, link)->client = NULL;
}

/* Also by a kill of the client: its socket ends in any case. */
static void end_with(struct session *s)
{
    if (s->over)
        return;
    s->closing = s->over = true;
    s->hooks->lose(s, "the prompt that it belonged to has ended");
}

void connection_hold(struct connection *c)
{
    c->holds = true;
}

static void connection_drop(struct session *s, struct connection *c)
{
    bool holds = c->holds;

    forget(s, c);
    link_remove(&c->link);
    loop_close(&s->loop, &c->watch);
    buf_done(&c->in);
    buf_done(&c->out);
    free(take_ptr(c->request.code));
    free(take_ptr(c->later));
    close_given(c);
    c->waits = c->holds = false;
    loop_free_later(&s->loop, &c->garbage);
    if (holds)
        end_with(s);
}

static size_t backlog(const struct connection *c)
{
    return c->out.len - c->sent;
}

/* A client that reads slowly holds the program of its cell up, as a pipe would: nothing is lost,
 * and little is kept.  A cell that is being stopped may still say why. */
static void hold_output(struct session *s)
{
    const struct connection *c = s->cell ? s->cell->client : NULL;
    size_t most = s->cell && s->cell->stop != CELL_ON ? BACKLOG_STOPPED : BACKLOG_MOST;
    bool hold = c && backlog(c) > (s->holds_output ? most / 4 : most);

    if (hold == s->holds_output || !s->job)
        return;
    s->holds_output = hold;
    (void)sbr_job_hold_output(s->job, hold);
}

void connection_let_output_go(struct session *s)
{
    if (s->holds_output && s->job)
        (void)sbr_job_hold_output(s->job, false);
    s->holds_output = false;
}

/* Drops what was sent before `more` bytes are added.  A client may read 100 MB in small pieces: the
 * rest is moved once for each half of it, not for each piece. */
static void drop_sent(struct connection *c, size_t more)
{
    if (c->sent < backlog(c) && more <= OUT_MAX - c->out.len)
        return;
    buf_drop(&c->out, c->sent);
    c->sent = 0;
    if (!c->out.len && c->out.capacity > 4 * BACKLOG_MOST) {
        buf_done(&c->out);
        buf_init(&c->out, OUT_MAX);
    }
}

/* What is sent now; -1: the client is gone. */
static ssize_t send_some(const struct connection *c, const char *data, size_t len)
{
    ssize_t n = send(c->watch.fd, data, len, MSG_NOSIGNAL);

    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

/* Lines of a client that has a long answer still to read wait in its socket. */
static void watch(struct session *s, struct connection *c)
{
    uint32_t in = backlog(c) > BACKLOG_ASKING ? 0u : EPOLLIN, out = c->out.len ? EPOLLOUT : 0u;

    if (c->watch.events != (in | out))
        (void)loop_change(&s->loop, &c->watch, in | out);
}

/* False when the client is gone. */
static bool write_out(struct session *s, struct connection *c)
{
    while (c->sent < c->out.len) {
        ssize_t n = send_some(c, c->out.data + c->sent, backlog(c));

        if (n < 0)
            return false;
        if (n == 0)
            break;
        c->sent += (size_t)n;
    }
    drop_sent(c, 0);
    watch(s, c);
    hold_output(s);
    return true;
}

/* What its socket takes goes out at once, without a copy. */
void connection_send(struct session *s, struct connection *c, const char *text, size_t len)
{
    ssize_t n = 0;

    if (!c || !c->watch.on)
        return;
    if (!c->out.len)
        n = send_some(c, text, len);
    drop_sent(c, len);
    if (n < 0 || buf_add(&c->out, text + n, len - (size_t)n) < 0 || !write_out(s, c))
        shutdown(c->watch.fd, SHUT_RDWR); /* its end is read in another turn */
}

static void refuse_interrupted(struct connection *c)
{
    sbr_error err;

    err_set(&err, SBR_E_BUSY, "session", "the cell was interrupted before it began");
    connection_error(c->session, c, &err);
}

static void refuse_second(struct connection *c)
{
    sbr_error err;

    err_set(&err, SBR_E_BUSY, "session",
            "a cell of this client waits already; send the next one when that has ended");
    connection_error(c->session, c, &err);
}

/* An interrupt may come before its cell does, because a client sends both from two threads. */
bool connection_interrupt(struct connection *c)
{
    if (c->waits) {
        c->waits = false;
        free(take_ptr(c->request.code));
        refuse_interrupted(c);
        return false;
    }
    c->left = !c->asked;
    return c->session->cell && c->session->cell->client == c;
}

void connection_wait(struct connection *c, struct cell_request *request)
{
    c->asked = true;
    if (c->left) {
        c->left = false;
        free(take_ptr(request->code));
        refuse_interrupted(c);
        return;
    }
    if (c->waits) {
        free(take_ptr(request->code));
        refuse_second(c);
        return;
    }
    c->request = *request;
    request->code = NULL;
    c->waits = true;
    link_remove(&c->link);
    list_append(&c->session->connections, &c->link); /* behind those that wait already */
}

bool connection_defer(struct connection *c, const json_t *line)
{
    if (!c->later)
        return (c->later = json_dumps(line, JSON_COMPACT)) != NULL;
    return false;
}

void connection_resume_lines(struct session *s)
{
    list_each(at, &s->connections) {
        struct connection *c = link_owner(at, struct connection, link);
        scoped_free char *line = s->asks ? NULL : take_ptr(c->later);

        if (line)
            s->hooks->line(s, c, line, strlen(line));
    }
}

struct connection *connection_waiting(struct session *s, struct cell_request **ret)
{
    list_each(at, &s->connections) {
        struct connection *c = link_owner(at, struct connection, link);

        if (!c->waits)
            continue;
        if (ret)
            *ret = &c->request;
        return c;
    }
    return NULL;
}

struct connection *connection_next(struct session *s, struct cell_request *ret)
{
    struct connection *c = connection_waiting(s, NULL);

    if (!c)
        return NULL;
    c->waits = false;
    *ret = c->request;
    c->request.code = NULL;
    return c;
}

static void too_long(struct session *s, struct connection *c)
{
    sbr_error err;

    err_set(&err, SBR_E_INVALID, "session", "a line of more than %zu MiB; send less at a time",
            LINE_MAX_BYTES >> 20);
    connection_error(s, c, &err);
    shutdown(c->watch.fd, SHUT_RD);
}

static void handle_lines(struct session *s, struct connection *c, size_t fresh)
{
    size_t at = 0;
    const char *from = c->in.data + (c->in.len - fresh), *newline;

    while (c->watch.on && (newline = memchr(from, '\n', (size_t)(c->in.data + c->in.len - from)))) {
        size_t len = (size_t)(newline - c->in.data) - at;

        s->hooks->line(s, c, c->in.data + at, len);
        at += len + 1;
        from = c->in.data + at;
    }
    if (c->watch.on)
        buf_drop(&c->in, at);
}

/* A session that is no spare takes no file descriptors: the kernel closes them. */
static ssize_t receive(const struct session *s, struct connection *c, char *to)
{
    int fds[FD_MAX_PASSED];
    size_t n = 0;
    ssize_t len;

    if (!s->spare.waits)
        return read(c->watch.fd, to, READ_SIZE);
    len = fd_receive(c->watch.fd, to, READ_SIZE, fds, &n);
    if (n)
        close_given(c);
    for (size_t i = 0; i < n; i++) {
        if (i < CONNECTION_GIVEN)
            c->given[c->n_given++] = fds[i];
        else
            close(fds[i]);
    }
    return len;
}

static void read_in(struct session *s, struct connection *c)
{
    char *to = buf_extend(&c->in, READ_SIZE);
    ssize_t n;

    if (!to) {
        too_long(s, c);
        connection_drop(s, c);
        return;
    }
    n = receive(s, c, to);
    c->in.len -= READ_SIZE - (size_t)(n > 0 ? n : 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        connection_drop(s, c);
    else if (n > 0)
        handle_lines(s, c, (size_t)n);
}

static void connection_ready(void *context, uint32_t events)
{
    struct connection *c = context;
    struct session *s = c->session;

    if (events & EPOLLOUT && !write_out(s, c)) {
        connection_drop(s, c);
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_in(s, c);
}

static size_t count(const struct session *s)
{
    size_t n = 0;

    for (const struct link *at = s->connections.next; at != &s->connections; at = at->next)
        n++;
    return n;
}

/* It is asked for nothing yet; a client reads this in place of its first answer. */
static void refuse_client(int fd)
{
    scoped_free char *line = NULL;
    sbr_error err;

    err_set(&err, SBR_E_BUSY, "session",
            "the session has as many clients as it takes; ask again when one has left");
    line = connection_error_line(&err);
    if (line)
        (void)!send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void accepted(struct session *s, int fd)
{
    bool ours = peer_is_neighbour(fd, &s->home, NULL), fits = count(s) < CONNECTIONS_MAX;
    struct connection *c = ours && fits ? calloc(1, sizeof(*c)) : NULL;

    if (ours && !fits)
        refuse_client(fd);
    if (!c) {
        close(fd);
        return;
    }
    c->session = s;
    link_init(&c->link);
    buf_init(&c->in, LINE_MAX_BYTES);
    buf_init(&c->out, OUT_MAX);
    c->watch = loop_watch_of(fd, connection_ready, c);
    if (loop_add(&s->loop, &c->watch, EPOLLIN) < 0) {
        close(fd);
        free(c);
        return;
    }
    list_append(&s->connections, &c->link);
}

static void accept_again(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    if (s->listen_watch.on)
        (void)loop_change(&s->loop, &s->listen_watch, EPOLLIN);
}

static void client_came(void *context, uint32_t events)
{
    struct session *s = context;
    int fd;

    (void)events;
    while ((fd = fd_accept(s->listen_watch.fd, SOCK_NONBLOCK)) >= 0)
        accepted(s, fd);
    if (errno != EMFILE && errno != ENFILE)
        return;
    (void)loop_change(&s->loop, &s->listen_watch, 0); /* it would be ready all the time */
    loop_set_timer(&s->loop, TIMER_ACCEPT, clock_now_us() + ACCEPT_PAUSE_US, accept_again, s);
}

/* The directory's path may be longer than the address of a socket.  Whoever sees the socket by its
 * name can connect: it gets the name when it listens. */
int connection_listen(struct session *s, sbr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    peer_look_home(&s->home);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" NEW_SOCKET, s->dir.fd);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0 || renameat(s->dir.fd, NEW_SOCKET, s->dir.fd, SESSION_SOCKET) < 0)
        return err_set_errno(err, "session", "cannot listen on the session's socket");
    s->listen_watch = loop_watch_of(fd, client_came, s);
    if (loop_add(&s->loop, &s->listen_watch, EPOLLIN) < 0)
        return err_set_errno(err, "session", "cannot watch the session's socket");
    (void)take_fd(fd);
    return 0;
}

void connection_tell_all(struct session *s, const char *text)
{
    list_each(at, &s->connections)
        connection_send(s, link_owner(at, struct connection, link), text, strlen(text));
}

/* At the end of the process: answers reach clients that read them. */
void connection_write_all(struct session *s)
{
    list_each(at, &s->connections) {
        struct connection *c = link_owner(at, struct connection, link);
        int flags = fcntl(c->watch.fd, F_GETFL);
        struct timeval patience = { .tv_sec = 2 };

        (void)fcntl(c->watch.fd, F_SETFL, flags & ~O_NONBLOCK);
        (void)setsockopt(c->watch.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        (void)write_out(s, c);
    }
}

void connection_close_all(struct session *s)
{
    list_each(at, &s->connections)
        connection_drop(s, link_owner(at, struct connection, link));
    loop_close(&s->loop, &s->listen_watch);
}
