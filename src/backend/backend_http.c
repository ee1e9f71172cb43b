#include "backend/backend_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/backend_guest.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"

#define HEAD_MAX 16384
#define PATIENCE_MS 60000
#define LAST_MS 1000 /* for what is asked when the run was cancelled */

/* How long one read waits, or one connect or write. */
static int set_patience(int fd, int which, unsigned int ms)
{
    const struct timeval patience = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

    return setsockopt(fd, SOL_SOCKET, which, &patience, sizeof(patience));
}

/* How long the answer may still take, once the run is not wanted any more. */
static bool is_over(const struct sandbox_wait *wait, uint64_t *end_us)
{
    uint64_t now_us = clock_now_us();

    if (!backend_guest_is_wanted(wait) && *end_us > now_us + LAST_MS * 1000ULL)
        *end_us = now_us + LAST_MS * 1000ULL;
    return now_us > *end_us;
}

/* An engine that hangs accepts no connection, and then the kernel's queue of them is full. */
static int await_connection(int fd, const struct sockaddr_un *address,
                            const struct sandbox_wait *wait)
{
    uint64_t end_us = clock_now_us() + PATIENCE_MS * 1000ULL;

    if (fd < 0 || set_patience(fd, SO_RCVTIMEO, SANDBOX_ASK_MS) < 0 ||
        set_patience(fd, SO_SNDTIMEO, SANDBOX_ASK_MS) < 0)
        return -1;
    while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
        int problem = errno;

        if ((problem != EAGAIN && problem != EINTR) || is_over(wait, &end_us)) {
            errno = problem;
            return -1;
        }
    }
    return set_patience(fd, SO_SNDTIMEO, PATIENCE_MS);
}

static int not_reached(const char *path, int problem, sbr_error *err)
{
    bool absent = problem == ENOENT || problem == ECONNREFUSED;

    if (!absent && problem != EACCES && problem != EPERM) {
        errno = problem;
        return err_set_errno(err, "backend", "no container engine can be reached at '%.100s'",
                             path);
    }
    return err_set(err, SBR_E_UNSUPPORTED, "backend",
                   "no container engine can be reached at '%.90s': %s; %s", path, strerror(problem),
                   absent ? "start it, or name its socket, as in DOCKER_HOST=unix:///PATH"
                          : "let this user write to the socket, as by its group");
}

static int connect_to(const char *path, const struct sandbox_wait *wait, sbr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, SBR_E_INVALID, "backend", "the path of the socket '%.100s' is too long",
                       path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (await_connection(fd, &address, wait) < 0) {
        int problem = errno; /* the next call has one of its own */

        return backend_guest_is_wanted(wait) ? not_reached(path, problem, err)
                                             : backend_guest_not_wanted(err);
    }
    return take_fd(fd);
}

static int send_call(int fd, const struct backend_call *call, sbr_error *err)
{
    struct buf head;
    int r;

    /* 1.0: the answer ends with the connection, in one piece. */
    buf_init(&head, HEAD_MAX);
    buf_printf(&head, "%s %s HTTP/1.0\r\nHost: engine\r\n", call->method, call->path);
    if (call->type)
        buf_printf(&head, "Content-Type: %s\r\n", call->type);
    buf_printf(&head, "Content-Length: %zu\r\n\r\n", call->type ? call->len : (size_t)0);
    r = head.failed || fd_write_all(fd, head.data, head.len) < 0 ||
                (call->type && fd_write_all(fd, call->body, call->len) < 0)
            ? err_set_errno(err, "backend", "cannot ask the container engine")
            : 0;
    buf_done(&head);
    return r;
}

/* One byte more or many, or -1 where the engine says no more in time. */
static ssize_t read_some(int fd, const struct sandbox_wait *wait, uint64_t *end_us, char *to,
                         size_t room)
{
    ssize_t n;

    do
        n = read(fd, to, room);
    while (n < 0 && (errno == EINTR || errno == EAGAIN) && !is_over(wait, end_us));
    return n;
}

/* Byte by byte, because what follows belongs to the caller. */
static int read_head(int fd, const struct sandbox_wait *wait, struct backend_reply *reply,
                     sbr_error *err)
{
    uint64_t end_us = clock_now_us() + PATIENCE_MS * 1000ULL;
    char head[HEAD_MAX];
    size_t n = 0;

    while (n < sizeof(head) - 1 && (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0)) {
        if (read_some(fd, wait, &end_us, head + n, 1) <= 0)
            break;
        n++;
    }
    head[n] = '\0';
    reply->status =
        strncmp(head, "HTTP/1.", 7) == 0 && n > 12 ? (int)strtol(head + 9, NULL, 10) : 0;
    if (reply->status < 100 && !backend_guest_is_wanted(wait))
        return backend_guest_not_wanted(err);
    if (reply->status < 100)
        return err_set(err, SBR_E_SYSTEM, "backend", "the container engine gave no answer");
    return 0;
}

static int call_engine(const char *socket_path, const struct backend_call *call,
                       struct backend_reply *reply, sbr_error *err)
{
    scoped_fd int fd = connect_to(socket_path, &call->wait, err);

    reply->asked = fd >= 0;
    reply->status = 0;
    reply->body[0] = '\0';
    if (fd < 0 || send_call(fd, call, err) < 0 || read_head(fd, &call->wait, reply, err) < 0)
        return err->code;
    return take_fd(fd);
}

int backend_http_stream(const char *socket_path, const struct backend_call *call,
                        struct backend_reply *reply, sbr_error *err)
{
    scoped_fd int fd = call_engine(socket_path, call, reply, err);

    if (fd < 0)
        return err->code;
    if (set_patience(fd, SO_RCVTIMEO, PATIENCE_MS) < 0)
        return err_set_errno(err, "backend", "cannot wait for the container engine");
    return take_fd(fd);
}

/* The beginning of it; an engine that stops in the middle has said enough. */
static void read_body(int fd, const struct sandbox_wait *wait, struct backend_reply *reply)
{
    uint64_t end_us = clock_now_us() + PATIENCE_MS * 1000ULL;
    size_t len = 0;
    ssize_t n;

    while (len < BACKEND_REPLY_MAX &&
           (n = read_some(fd, wait, &end_us, reply->body + len, BACKEND_REPLY_MAX - len)) > 0)
        len += (size_t)n;
    reply->body[len] = '\0';
}

int backend_http_ask(const char *socket_path, const struct backend_call *call,
                     struct backend_reply *reply, sbr_error *err)
{
    scoped_fd int fd = call_engine(socket_path, call, reply, err);

    if (fd < 0)
        return err->code;
    read_body(fd, &call->wait, reply);
    return 0;
}
