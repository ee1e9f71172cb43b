#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/signal_fd.h"
#include "base/text.h"
#include "config/audit.h"
#include "http/admission.h"
#include "http/agents.h"
#include "http/dialect.h"
#include "http/execution.h"
#include "http/guard.h"
#include "http/listener.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/reader.h"
#include "http/route.h"
#include "http/sse_stream.h"
#include "http/websocket.h"
#include "lib/runner.h"

#define TICK_US 1000000
#define HEADER_US (10 * 1000000ULL) /* of the first request of a connection, until it is read */
#define IDLE_US (60 * 1000000ULL)   /* of a connection between two requests                   */
#define BODY_US (60 * 1000000ULL)   /* until the body is read                                 */
#define DRAIN_US (30 * 1000000ULL)  /* for what runs when the gateway is to end               */
#define CONNECTION_MEMORY 12288     /* line and headers of a request must fit                 */
#define CERTIFICATE_MAX 65536

enum { AT_UNIX, AT_TCP };

static void close_visitor(const struct visitor *visitor)
{
    (void)shutdown(visitor->fd, SHUT_RDWR);
}

static void connection_event(void *context, struct MHD_Connection *connection,
                             void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    struct visitor *visitor = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (visitor)
            link_remove(&visitor->link);
        free(visitor);
        return;
    }
    visitor = calloc(1, sizeof(*visitor));
    *socket_context = visitor;
    if (!visitor)
        return;
    visitor->fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    visitor->deadline_us = clock_now_us() + HEADER_US;
    link_init(&visitor->link);
    list_append(&server->visitors, &visitor->link);
}

/* A program in a sandbox may find the unix socket in a volume: it lives in other namespaces. */
static bool is_welcome(const struct server *server, struct visitor *visitor)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);

    if (!visitor || getsockname(visitor->fd, (struct sockaddr *)&address, &len) < 0)
        return false;
    visitor->tcp = address.ss_family != AF_UNIX;
    return visitor->tcp || peer_is_neighbour(visitor->fd, &server->home, NULL);
}

/* For the audit, if the configuration has one: who was refused what. */
static void note_refusal(const struct exchange *x)
{
    char status[16];
    const struct audit_field fields[] = { { "method", x->method },
                                          { "path", x->path },
                                          { "status", status },
                                          { "caller", x->tenant.name[0] ? x->tenant.name : NULL } };
    sbr_error ignored; /* the request is refused either way */

    if (x->status != MHD_HTTP_UNAUTHORIZED && x->status != MHD_HTTP_FORBIDDEN &&
        x->status != MHD_HTTP_TOO_MANY_REQUESTS)
        return;
    x->server->counters.refused++;
    snprintf(status, sizeof(status), "%u", x->status);
    if (x->server->config.audit)
        (void)!audit_note("refused", fields, ARRAY_LEN(fields), &ignored);
}

static struct exchange *begin(struct server *server, struct MHD_Connection *connection,
                              const char *path, const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct visitor *visitor = info ? info->socket_context : NULL;
    struct exchange *x;

    if (!is_welcome(server, visitor))
        return NULL;
    x = exchange_new(server, connection, path);
    if (!x)
        return NULL;
    x->visitor = visitor;
    visitor->deadline_us = clock_now_us() + BODY_US;
    snprintf(x->method, sizeof(x->method), "%s", method);
    (void)guard_admits(x, method);
    return x;
}

static void take_body(struct exchange *x, const char *data, size_t len)
{
    if (x->response || buf_add(&x->body, data, len) == 0)
        return;
    problem_reply(x, &(struct problem){ .status = MHD_HTTP_CONTENT_TOO_LARGE,
                                        .detail = "the body is larger than the gateway takes",
                                        .remedy = "the operator can raise --max-body" });
    exchange_add_header(x, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Called by the library: with the headers, with each piece of the body, at its end, and again when
 * a reply that waited is there. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              size_t *len, void **exchange)
{
    struct exchange *x = *exchange;

    if (strcmp(version, MHD_HTTP_VERSION_1_1) != 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
        return MHD_NO;
    if (!x) {
        x = *exchange = begin(context, connection, path, method);
        return x ? exchange_send(x) : MHD_NO;
    }
    if (*len) {
        take_body(x, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (!x->response && !x->visitor->busy) {
        x->visitor->busy = true;
        x->route->handle(x);
    }
    return exchange_send(x);
}

static void completed(void *context, struct MHD_Connection *connection, void **exchange,
                      enum MHD_RequestTerminationCode code)
{
    struct server *server = context;
    struct exchange *x = *exchange;

    (void)connection;
    (void)code;
    if (!x)
        return;
    counters_add_request(&server->counters, x->status);
    note_refusal(x);
    x->visitor->busy = false;
    x->visitor->deadline_us = clock_now_us() + IDLE_US;
    exchange_free(x);
    *exchange = NULL;
}

/* Paths are decoded part by part in route.c, so that an escaped slash does not become one. */
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

static void daemon_ready(void *context, uint32_t events)
{
    bool *due = context;

    (void)events;
    *due = true;
}

/* Certificate and key of TLS; NULL: none. */
struct identity {
    char *certificate, *key;
};

static int start_daemon(struct server *server, unsigned int which, int fd,
                        const struct identity *identity, sbr_error *err)
{
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, identity->certificate },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, identity->key },
        { MHD_OPTION_END, 0, NULL },
    };
    const struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
    unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
                         MHD_USE_ERROR_LOG | (identity->key ? MHD_USE_TLS : 0);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, connection_event, server, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, server->options.connections, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, identity->key ? tls : plain, MHD_OPTION_END);
    int epoll_fd;

    if (!daemon)
        return err_set(err, SBR_E_SYSTEM, "http",
                       identity->key ? "cannot serve; certificate and key may not be PEM files "
                                       "that belong together"
                                     : "cannot serve at the socket");
    epoll_fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    server->sockets[which].daemon = daemon;
    server->sockets[which].watch =
        loop_watch_of(epoll_fd, daemon_ready, &server->sockets[which].due);
    if (loop_add(&server->loop, &server->sockets[which].watch, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot watch the socket");
    return 0;
}

static int read_pem(const char *path, char **ret, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t len;

    if (fd < 0)
        return err_set_errno(err, "http", "cannot open '%.200s'", path);
    return fd_read_text(fd, CERTIFICATE_MAX, ret, &len, err);
}

static int open_tcp(struct server *server, sbr_error *err)
{
    const struct server_options *options = &server->options;
    struct identity identity = { NULL, NULL };
    scoped_free char *certificate = NULL, *key = NULL;
    int fd;

    if (!options->certificate != !options->key)
        return err_set(err, SBR_E_INVALID, "http", "--tls-cert and --tls-key belong together");
    if (options->certificate && (read_pem(options->certificate, &certificate, err) < 0 ||
                                 read_pem(options->key, &key, err) < 0))
        return err->code;
    identity = (struct identity){ certificate, key };
    if (listener_open_tcp(options->address, key != NULL, &fd, err) < 0)
        return err->code;
    return start_daemon(server, AT_TCP, fd, &identity, err);
}

static int open_unix(struct server *server, sbr_error *err)
{
    const struct identity none = { NULL, NULL };
    int fd;

    if (listener_open_unix(server->options.socket, &fd, err) < 0)
        return err->code;
    return start_daemon(server, AT_UNIX, fd, &none, err);
}

static void signal_came(void *context, uint32_t events)
{
    struct server *server = context;
    struct signalfd_siginfo info;

    (void)events;
    if (read(server->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    server->end_us = clock_now_us() + (server->ending ? 0 : DRAIN_US);
    server->ending = true;
}

static int watch_signals(struct server *server, sbr_error *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    static const int numbers[] = { SIGTERM, SIGINT };
    int fd = signal_fd_open(numbers, ARRAY_LEN(numbers));

    (void)sigaction(SIGPIPE, &ignore, NULL);
    server->signals = loop_watch_of(fd, signal_came, server);
    if (fd < 0 || loop_add(&server->loop, &server->signals, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot wait for signals");
    return 0;
}

static void raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Nothing that the gateway starts gains rights by a set-id bit. */
static int give_up_rights(sbr_error *err)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? err_set_errno(err, "http", "cannot give up the right to new privileges")
               : 0;
}

static int open_server(struct server *server, sbr_error *err)
{
    if (give_up_rights(err) < 0)
        return err->code;
    raise_files();
    peer_look_home(&server->home);
    link_init(&server->visitors);
    link_init(&server->waiting);
    link_init(&server->executions);
    link_init(&server->agents);
    link_init(&server->sse_streams);
    server->started_us = clock_now_us();
    if (loop_init(&server->loop, "http", err) < 0 || watch_signals(server, err) < 0 ||
        offload_open(server, err) < 0 || config_load(NULL, &server->config, err) < 0 ||
        config_add_languages(&server->config, err) < 0 ||
        roots_open(&server->config, &server->roots, err) < 0 ||
        spans_open(&server->config, &server->spans, err) < 0 ||
        admission_open(&server->config, &server->memory, err) < 0 ||
        runner_open(RUNNER_LONG, false, &server->rt, err) < 0)
        return err->code;
    if (server->options.socket && open_unix(server, err) < 0)
        return err->code;
    return server->options.address ? open_tcp(server, err) : 0;
}

static void report_ready(const struct server *server)
{
    char address[80] = "";

    if (server->sockets[AT_TCP].daemon)
        listener_describe(MHD_get_daemon_info(server->sockets[AT_TCP].daemon,
                                              MHD_DAEMON_INFO_LISTEN_FD)
                              ->listen_fd,
                          address, sizeof(address));
    if (server->options.socket)
        dprintf(STDERR_FILENO, "http ready, socket %s\n", server->options.socket);
    if (address[0])
        dprintf(STDERR_FILENO, "http ready, %s://%s\n", server->options.key ? "https" : "http",
                address);
}

/* Bytes that come one by one keep no connection open for ever. */
static void close_overdue(struct server *server, uint64_t now_us)
{
    list_each(at, &server->visitors) {
        struct visitor *visitor = link_owner(at, struct visitor, link);

        if (!visitor->busy && now_us > visitor->deadline_us)
            close_visitor(visitor);
    }
}

static void tick(struct server *server, uint64_t now_us)
{
    if (now_us < server->ticked_us + TICK_US)
        return;
    server->ticked_us = now_us;
    close_overdue(server, now_us);
    execution_tick(server, now_us);
    reader_tick(server, now_us);
    spans_tick(server);
    sse_stream_tick(server, now_us);
    agents_tick(server, now_us);
    for (size_t i = 0; server->options.dialects[i]; i++)
        if (server->options.dialects[i]->tick)
            server->options.dialects[i]->tick(server, now_us);
}

static void run_daemons(struct server *server)
{
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        if (!server->sockets[i].daemon)
            continue;
        server->sockets[i].due = false;
        (void)MHD_run(server->sockets[i].daemon);
    }
}

static uint64_t wait_us(const struct server *server)
{
    uint64_t wait = TICK_US;

    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        MHD_UNSIGNED_LONG_LONG ms;

        if (server->sockets[i].daemon &&
            MHD_get_timeout(server->sockets[i].daemon, &ms) == MHD_YES && ms * 1000 < wait)
            wait = ms * 1000;
    }
    return wait;
}

static bool is_done(const struct server *server)
{
    return server->ending && (clock_now_us() >= server->end_us ||
                              (execution_count(server, NULL) == 0 && !offload_is_busy()));
}

static void serve(struct server *server)
{
    run_daemons(server);
    while (!is_done(server)) {
        if (loop_turn(&server->loop, wait_us(server)) < 0)
            return;
        run_daemons(server);
        tick(server, clock_now_us());
    }
}

/* Exchanges that wait are resumed, because the library does not end while one does. */
static void close_server(struct server *server)
{
    list_each(at, &server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        e->waiter = NULL;
        e->ended = NULL;
        reader_drop_all(e);
        websocket_drop_all(e);
    }
    sse_stream_drop_all(server);
    list_each(at, &server->waiting)
        problem_reply(link_owner(at, struct exchange, link),
                      &(struct problem){ .status = MHD_HTTP_SERVICE_UNAVAILABLE,
                                         .detail = "the gateway ended" });
    run_daemons(server);
    for (size_t i = 0; i < SERVER_SOCKETS; i++)
        if (server->sockets[i].daemon) {
            loop_remove(&server->loop, &server->sockets[i].watch);
            MHD_stop_daemon(server->sockets[i].daemon);
        }
    list_each(at, &server->executions)
        execution_free(link_owner(at, struct execution, link));
    agents_close(server);
    for (size_t i = 0; server->options.dialects[i]; i++)
        if (server->options.dialects[i]->close)
            server->options.dialects[i]->close(server);
    if (server->options.socket && server->sockets[AT_UNIX].daemon)
        (void)unlink(server->options.socket);
    sbr_runtime_close(server->rt);
    spans_done(&server->spans);
    roots_done(&server->roots);
    config_done(&server->config);
    loop_done(&server->loop);
}

int server_run(const struct server_options *options, sbr_error *err)
{
    struct server *server = calloc(1, sizeof(*server));
    int r;

    if (!server)
        return err_set_oom(err, "http");
    server->options = *options;
    r = open_server(server, err);
    if (r == 0) {
        report_ready(server);
        if (options->ready_fd >= 0)
            (void)close(options->ready_fd);
        serve(server);
    }
    close_server(server);
    free(server);
    return r;
}
