/* sandbox-run-front: reads what the clients of the gateway send, and nothing else reads it first.
 *
 * One for each listener of the gateway, so that the one for TCP never has a connection that needs
 * no token.
 *
 *   Privilege:   none; no file, no new socket, no process; where the gateway is root, another user.
 *   Descriptors: enum front_fd, connections of clients, their channels.
 *   (1) It is confined before it has the first connection.
 *   (2) It knows no token but those that clients send, and decides nothing.
 *   (3) What a client can make it hold is bounded: header, frame, message, time.
 *   (4) It ends when the gateway says so or is gone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "front/front_internal.h"

#define TICK_US 1000000
#define DRAIN_US 1000000 /* for replies that clients have not read when the gateway ends */
/* The gateway bounds connections; these were given up, and libmicrohttpd closes them in its next
 * turn. */
#define NOT_YET_CLOSED 64
/* What GnuTLS takes for good, without versions that RFC 8996 retired. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct front_config {
    uint32_t connections, uid;
    const void *filter;
    size_t filter_size;
    const char *certificate, *key; /* NULL: no TLS */
    const char *test_without;
};

static int read_config(struct front_config *ret, sbr_error *err)
{
    struct buf_reader in = { 0 };
    struct stat st;

    if (fstat(FRONT_CONFIG, &st) < 0 || st.st_size == 0)
        return err_set(err, SBR_E_BUG, "front", "the gateway starts this program, nothing else");
    in.len = (size_t)st.st_size;
    in.data = mmap(NULL, in.len, PROT_READ, MAP_PRIVATE, FRONT_CONFIG, 0);
    if (in.data == MAP_FAILED)
        return err_set_errno(err, "front", "cannot map the configuration");
    close(FRONT_CONFIG);
    ret->connections = buf_reader_u32(&in);
    ret->uid = buf_reader_u32(&in);
    ret->filter = buf_reader_bytes(&in, &ret->filter_size);
    ret->certificate = buf_reader_string(&in);
    ret->key = buf_reader_string(&in);
    ret->test_without = buf_reader_string(&in);
    return in.failed ? err_set(err, SBR_E_BUG, "front", "the configuration does not read well") : 0;
}

/* For tests that show what confinement prevents. */
static bool stays_free(const struct front_config *config)
{
#ifdef SBR_TEST_HOOKS
    return config->test_without && strstr(config->test_without, "front-confine");
#else
    (void)config;
    return false;
#endif
}

/* Paths are decoded part by part by the gateway, so that an escaped slash does not become one. */
static size_t leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

static void ignore_message(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

/* The client of the connection that is being added. */
static struct front_client *arriving;

static void leave_library(struct front_client *c)
{
    front_read_forget(c);
    front_client_free(c);
}

static void connection_event(void *context, struct MHD_Connection *connection,
                             void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct front_client *c = *socket_context;

    (void)context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c)
            leave_library(c);
        return;
    }
    c = arriving;
    arriving = NULL;
    *socket_context = c;
    if (!c)
        return;
    c->connection = connection;
}

static void library_take(struct front_client *c)
{
    struct sockaddr address = { .sa_family = AF_UNIX };

    c->plain = false;
    arriving = c;
    c->front->in_library++;
    if (front_read_watch(c))
        (void)MHD_add_connection(c->front->daemon, c->fd, &address, sizeof(address));
    if (arriving) /* it was not taken */
        leave_library(arriving);
    arriving = NULL;
}

static void take_connection(struct front *front, int fd, int channel)
{
    struct front_client *c = front_client_new(front, channel);

    if (!c) {
        close(fd);
        return;
    }
    c->fd = fd;
    if (front->tls)
        library_take(c);
    else if (!front_plain_open(c))
        front_plain_close(c);
}

static void end(struct front *front)
{
    front->ending = true;
    front->end_us = clock_now_us() + DRAIN_US;
    loop_remove(&front->loop, &front->link);
}

static void gateway_says(void *context, uint32_t events)
{
    struct front *front = context;
    int fds[FD_MAX_PASSED];
    size_t n = 0;
    char byte;

    (void)events;
    for (;;) {
        ssize_t r = fd_receive(FRONT_LINK, &byte, 1, fds, &n);

        if (r < 0 && errno == EAGAIN)
            return;
        if (r <= 0) {
            end(front);
            return;
        }
        if (n == 0) /* it asks whether this process goes on; an answer that is lost is late */
            (void)send(FRONT_LINK, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        else if (n == 2)
            take_connection(front, fds[0], fds[1]);
        else if (n == 1) /* no descriptor was left for the second: this connection is lost */
            close(fds[0]);
    }
}

static void library_ready(void *context, uint32_t events)
{
    (void)context;
    (void)events; /* serve() lets it work after each turn */
}

static int start_library(struct front *front, const struct front_config *config, sbr_error *err)
{
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)config->certificate },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)config->key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL },
    };
    const struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
    unsigned int flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                         MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG | (config->key ? MHD_USE_TLS : 0);

    front->tls = config->key;
    front->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, front_request_handle, front,
                         MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
                         MHD_OPTION_NOTIFY_COMPLETED, front_request_completed, front,
                         MHD_OPTION_NOTIFY_CONNECTION, connection_event, front,
                         MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)FRONT_CONNECTION_MEMORY,
                         MHD_OPTION_CONNECTION_LIMIT, config->connections + NOT_YET_CLOSED,
                         MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY,
                         config->key ? tls : plain, MHD_OPTION_END);
    if (!front->daemon)
        return err_set(err, SBR_E_SYSTEM, "front",
                       config->key ? "cannot serve; certificate and key may not be PEM files that "
                                     "belong together"
                                   : "cannot serve");
    front->library =
        loop_watch_of(MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                      library_ready, front);
    if (loop_add(&front->loop, &front->library, EPOLLIN) < 0)
        return err_set_errno(err, "front", "cannot watch the connections");
    return 0;
}

/* The gateway ends a front: SIGTERM to the whole group of a service must not cut replies off. */
static void ignore_signals(void)
{
    static const int numbers[] = { SIGPIPE, SIGTERM, SIGINT, SIGHUP };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        (void)sigaction(numbers[i], &ignore, NULL);
}

static int prepare(struct front *front, sbr_error *err)
{
    struct front_config config = { 0 };

    ignore_signals();
    link_init(&front->clients);
    front->library_take = library_take;
    if (read_config(&config, err) < 0 || loop_init(&front->loop, "front", err) < 0 ||
        start_library(front, &config, err) < 0)
        return err->code;
    front->link = loop_watch_of(FRONT_LINK, gateway_says, front);
    if (loop_add(&front->loop, &front->link, EPOLLIN) < 0)
        return err_set_errno(err, "front", "cannot watch the gateway");
    return stays_free(&config) ? 0
                               : front_confine(config.uid, config.filter, config.filter_size, err);
}

static uint64_t wait_us(const struct front *front)
{
    MHD_UNSIGNED_LONG_LONG ms;
    uint64_t wait = front->ending ? TICK_US / 50 : TICK_US;

    if (!front->in_library)
        return wait;
    return MHD_get_timeout(front->daemon, &ms) == MHD_YES && ms * 1000 < wait ? ms * 1000 : wait;
}

static bool is_done(const struct front *front)
{
    return front->ending && (link_is_alone(&front->clients) || clock_now_us() >= front->end_us);
}

static void serve(struct front *front)
{
    while (!is_done(front)) {
        uint64_t now_us;

        if (loop_turn(&front->loop, wait_us(front)) < 0)
            return;
        if (front->in_library)
            (void)MHD_run(front->daemon);
        now_us = clock_now_us();
        if (now_us < front->ticked_us + TICK_US)
            continue;
        front->ticked_us = now_us;
        front_client_tick(front, now_us);
    }
}

int main(void)
{
    static struct front front;
    sbr_error err;

    if (prepare(&front, &err) < 0) {
        if (send(FRONT_LINK, err.message, strlen(err.message), MSG_NOSIGNAL) < 0)
            dprintf(STDERR_FILENO, FRONT_NAME ": %s\n", err.message);
        return 1;
    }
    if (send(FRONT_LINK, "", 1, MSG_NOSIGNAL) != 1) /* it serves */
        return 1;
    serve(&front);
    _exit(0);
}
