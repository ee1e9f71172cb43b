/* The reader handles what is answered at once.  Calls of tools wait in a queue for one of a few
 * threads, so that a cancellation is read while they run. */
#include "mcp/mcp_stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

#define READ_SIZE ((size_t)64 * 1024)
#define MOST_THREADS 16
#define MOST_WAITING 256
#define MOST_MEMORY ((size_t)64 << 20) /* of all calls that wait or run */
#define LEAVE_SECONDS 5                /* for programs that do not end when they are cancelled */

struct waiting {
    struct waiting *next;
    struct mcp_message message;
};

struct stdio {
    struct mcp_peer *peer;
    int out_fd, stop_fd;
    pthread_mutex_t out_lock;
    bool cut; /* under that lock: a line was not written to its end, so no other follows */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct waiting *first, **last;
    size_t n_waiting, memory;
    unsigned int threads, idle;
    bool closing;
    /* The line that is being read: */
    struct buf line;
    bool too_long; /* its rest is skipped */
};

/* 0, or -1: the client does not read any more, or not now and we were asked to end.  No more is
 * written at a time than a pipe that is ready takes, so that a write does not wait. */
static int write_all(const struct stdio *s, const char *data, size_t len)
{
    while (len) {
        struct pollfd fds[] = { { .fd = s->out_fd, .events = POLLOUT },
                                { .fd = s->stop_fd, .events = POLLIN } };
        ssize_t n = -1;

        if (poll(fds, 2, -1) < 0)
            errno = EINTR;
        else if (fds[0].revents)
            n = write(s->out_fd, data, len < PIPE_BUF ? len : PIPE_BUF);
        else
            return -1;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static void send_line(void *context, enum mcp_kind kind, const char *text, size_t len)
{
    struct stdio *s = context;

    (void)kind;
    pthread_mutex_lock(&s->out_lock);
    if (!s->cut)
        s->cut = write_all(s, text, len) < 0 || write_all(s, "\n", 1) < 0;
    pthread_mutex_unlock(&s->out_lock);
}

/* Under the lock; NULL: there is none, and the thread ends. */
static struct waiting *take(struct stdio *s)
{
    struct waiting *w;

    while (!s->first && !s->closing) {
        s->idle++;
        pthread_cond_wait(&s->changed, &s->lock);
        s->idle--;
    }
    w = s->closing ? NULL : s->first;
    if (!w)
        return NULL;
    s->first = w->next;
    if (!s->first)
        s->last = &s->first;
    s->n_waiting--;
    return w;
}

static void *work(void *context)
{
    struct stdio *s = context;
    struct waiting *w;
    size_t memory;

    pthread_mutex_lock(&s->lock);
    while ((w = take(s))) {
        pthread_mutex_unlock(&s->lock);
        memory = w->message.memory;
        (void)mcp_peer_handle(s->peer, &w->message);
        free(w);
        pthread_mutex_lock(&s->lock);
        s->memory -= memory;
    }
    s->threads--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Under the lock. */
static bool start_thread(struct stdio *s)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool made;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    made = pthread_create(&thread, &attr, work, s) == 0;
    pthread_attr_destroy(&attr);
    s->threads += made;
    return made;
}

/* False: no more calls can wait. */
static bool enqueue(struct stdio *s, const struct mcp_message *message)
{
    struct waiting *w = calloc(1, sizeof(*w));
    bool taken;

    if (!w)
        return false;
    *w = (struct waiting){ .message = *message };
    pthread_mutex_lock(&s->lock);
    taken = s->n_waiting < MOST_WAITING && s->memory + message->memory <= MOST_MEMORY;
    if (taken && s->n_waiting >= s->idle && s->threads < MOST_THREADS && !start_thread(s))
        taken = s->threads > 0;
    if (taken) {
        *s->last = w;
        s->last = &w->next;
        s->n_waiting++;
        s->memory += message->memory;
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    if (!taken)
        free(w);
    return taken;
}

static void handle_line(struct stdio *s, const char *text, size_t len)
{
    struct mcp_message message;

    while (len && (text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    if (!len)
        return;
    mcp_message_read(text, len, &message);
    message.context = s;
    if (!mcp_peer_may_wait(&message))
        (void)mcp_peer_handle(s->peer, &message);
    else if (!enqueue(s, &message))
        mcp_peer_refuse(s->peer, &message,
                        "too many calls wait already; send this one again when some have ended");
}

static void end_line(struct stdio *s)
{
    struct mcp_message message = { .kind = MCP_BAD,
                                   .code = MCP_INVALID_REQUEST,
                                   .why = "a message has at most 16 MiB",
                                   .context = s };

    if (s->too_long)
        (void)mcp_peer_handle(s->peer, &message);
    else
        handle_line(s, s->line.data ? s->line.data : "", s->line.len);
    s->too_long = false;
    s->line.len = 0;
    s->line.failed = false;
}

static void take_bytes(struct stdio *s, const char *data, size_t len)
{
    while (len) {
        const char *newline = memchr(data, '\n', len);
        size_t part = newline ? (size_t)(newline - data) : len;

        if (!s->too_long && buf_add(&s->line, data, part) < 0)
            s->too_long = true;
        if (newline)
            end_line(s);
        part += newline != NULL;
        data += part;
        len -= part;
    }
}

/* False: the client left, or we were asked to end. */
static bool read_some(struct stdio *s, int in_fd, int stop_fd)
{
    struct pollfd fds[] = { { .fd = in_fd, .events = POLLIN },
                            { .fd = stop_fd, .events = POLLIN } };
    char data[READ_SIZE];
    ssize_t n;

    if (poll(fds, 2, -1) < 0)
        return errno == EINTR;
    if (fds[1].revents)
        return false;
    n = read(in_fd, data, sizeof(data));
    if (n > 0)
        take_bytes(s, data, (size_t)n);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Under the lock. */
static void drop_waiting(struct stdio *s)
{
    while (s->first) {
        struct waiting *w = s->first;

        s->first = w->next;
        mcp_message_done(&w->message);
        free(w);
    }
}

/* False: a call has not ended in time. */
static bool leave(struct stdio *s)
{
    struct timespec until;
    bool done;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LEAVE_SECONDS;
    mcp_peer_leave(s->peer);
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    drop_waiting(s);
    pthread_cond_broadcast(&s->changed);
    while (s->threads && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
        continue;
    done = !s->threads;
    pthread_mutex_unlock(&s->lock);
    return done;
}

int mcp_stdio_serve(struct mcp_server *server, int in_fd, int out_fd, int stop_fd, sbr_error *err)
{
    struct stdio *s = calloc(1, sizeof(*s));

    if (!s || !(s->peer = mcp_peer_new(server, send_line))) {
        free(s);
        return err_set_oom(err, "mcp");
    }
    s->out_fd = out_fd;
    s->stop_fd = stop_fd;
    s->last = &s->first;
    pthread_mutex_init(&s->out_lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    buf_init(&s->line, MCP_MESSAGE_MAX);
    while (read_some(s, in_fd, stop_fd))
        continue;
    buf_done(&s->line);
    if (!leave(s)) /* a thread that does not end has it, until the process ends */
        return 1;
    mcp_peer_free(s->peer);
    free(s);
    return 0;
}
