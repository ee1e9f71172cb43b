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
#include "base/signal_fd.h"
#include "base/text.h"
#include "config/audit.h"
#include "http/agents.h"
#include "http/dialect.h"
#include "http/durable.h"
#include "http/execution.h"
#include "http/fronts.h"
#include "http/joblog.h"
#include "http/listener.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/submission.h"
#include "http/token.h"
#include "http/websocket.h"
#include "lib/runner.h"

#define TICK_US 1000000
#define DRAIN_US (30 * 1000000ULL) /* for what runs when the gateway is to end               */
#define CERTIFICATE_MAX 65536
#define RETRY_S 1

static int read_pem(const char *path, char **ret, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t len;

    if (fd < 0)
        return err_set_errno(err, "http", "cannot open '%.200s'", path);
    return fd_read_text(fd, CERTIFICATE_MAX, ret, &len, err);
}

static void forget(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
}

static int open_tcp(struct server *server, sbr_error *err)
{
    const struct server_options *options = &server->options;
    scoped_free char *certificate = NULL, *key = NULL;
    int fd, r;

    if (!options->certificate != !options->key)
        return err_set(err, SBR_E_INVALID, "http", "--tls-cert and --tls-key belong together");
    if (options->certificate && (read_pem(options->certificate, &certificate, err) < 0 ||
                                 read_pem(options->key, &key, err) < 0))
        return err->code;
    if (listener_open_tcp(options->address, key != NULL, &fd, err) < 0)
        return err->code;
    r = fronts_open(server, SERVER_AT_TCP, fd, certificate, key, err);
    forget(key);
    return r;
}

static int open_unix(struct server *server, sbr_error *err)
{
    int fd;

    if (listener_open_unix(server->options.socket, &fd, err) < 0)
        return err->code;
    server->has_socket = true;
    return fronts_open(server, SERVER_AT_UNIX, fd, NULL, NULL, err);
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
    if (getppid() != server->parent) /* the engine was killed: another one may start already */
        fronts_release(server);
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

/* First, so that the fronts start while the rest is read. */
static int open_sockets(struct server *server, sbr_error *err)
{
    if (server->options.socket && open_unix(server, err) < 0)
        return err->code;
    return server->options.address ? open_tcp(server, err) : 0;
}

static void init(struct server *server)
{
    link_init(&server->visitors);
    link_init(&server->closed);
    link_init(&server->waiting);
    link_init(&server->ready);
    link_init(&server->executions);
    link_init(&server->live);
    link_init(&server->spent);
    link_init(&server->batches);
    link_init(&server->restored);
    link_init(&server->agents);
    link_init(&server->sse_streams);
    link_init(&server->offload.at_work);
    link_init(&server->bodies);
    link_init(&server->sandboxes);
    link_init(&server->submissions);
    link_init(&server->unbegun);
    link_init(&server->stored);
    link_init(&server->holdings.sessions);
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        s->listener.fd = s->link.fd = s->config = -1;
        link_init(&s->strangers);
    }
    if (!server->options.connections_per_address)
        server->options.connections_per_address = (server->options.connections + 1) / 2;
    server->started_us = clock_now_us();
    server->parent = getppid();
    server->take_request = body_take;
}

/* An operator who wants a container around every run does not get less without a word. */
static int check_backend(const struct config *config, sbr_error *err)
{
    if (!strcmp(config->backend, "native"))
        return 0;
    return err_set(err, SBR_E_UNSUPPORTED, "http",
                   "%.200s: 'backend: %.100s' cannot hold here, because only the native backend "
                   "serves requests over HTTP; set XDG_CONFIG_HOME to a configuration without it",
                   config->path[CONFIG_OF_USER], config->backend);
}

static int open_server(struct server *server, sbr_error *err)
{
    if (give_up_rights(err) < 0)
        return err->code;
    raise_files();
    peer_look_home(&server->home);
    if (loop_init(&server->loop, "http", err) < 0 || watch_signals(server, err) < 0 ||
        open_sockets(server, err) < 0 || offload_open(server, err) < 0 ||
        config_load(NULL, &server->config, err) < 0 || check_backend(&server->config, err) < 0 ||
        config_add_languages(&server->config, err) < 0 ||
        roots_open(&server->config, &server->roots, err) < 0 ||
        spans_open(&server->config, &server->spans, err) < 0 || holdings_open(server, err) < 0 ||
        runner_open(RUNNER_LONG, false, &server->rt, err) < 0)
        return err->code;
    restoration_open(server);
    return fronts_wait(server, err);
}

static void report_ready(const struct server *server)
{
    char address[80] = "";

    if (server->sockets[SERVER_AT_TCP].listener.fd >= 0)
        listener_describe(server->sockets[SERVER_AT_TCP].listener.fd, address, sizeof(address));
    if (server->options.socket)
        dprintf(STDERR_FILENO, "http ready, socket %s\n", server->options.socket);
    if (address[0])
        dprintf(STDERR_FILENO, "http ready, %s://%s\n", server->options.key ? "https" : "http",
                address);
}

static void tick(struct server *server, uint64_t now_us)
{
    if (now_us < server->ticked_us + TICK_US)
        return;
    server->ticked_us = now_us;
    fronts_tick(server);
    visitor_tick(server);
    refusals_tick(server, now_us);
    holdings_tick(server);
    execution_tick(server, now_us);
    execution_kept_trim(server);
    batch_jobs_tick(server);
    reader_tick(server, now_us);
    spans_tick(server);
    sse_stream_tick(server, now_us);
    agents_tick(server, now_us);
    for (size_t i = 0; server->options.dialects[i]; i++)
        if (server->options.dialects[i]->tick)
            server->options.dialects[i]->tick(server, now_us);
}

/* What was not begun again yet is left to the next gateway. */
static bool is_idle(const struct server *server)
{
    unsigned int live = 0;

    list_each(at, (struct link *)&server->live)
        live += at != NULL;
    return live == restoration_waiting(server);
}

static bool is_done(const struct server *server)
{
    return server->ending &&
           (clock_now_us() >= server->end_us ||
            (is_idle(server) && !offload_is_busy(server) && !joblog_is_busy(server->joblog)));
}

static void serve(struct server *server)
{
    while (!is_done(server)) {
        if (loop_turn(&server->loop, TICK_US) < 0)
            return;
        visitor_run(server);
        execution_tidy(server);
        execution_kept_look(server);
        fronts_run(server);
        tick(server, clock_now_us());
        restoration_run(server);
    }
}

/* Nobody is asked to repeat what has begun. */
static void reply_at_end(struct exchange *x, bool begun)
{
    static const struct problem problems[] = {
        { .status = HTTP_SERVICE_UNAVAILABLE, .detail = "the gateway ended", .retry_s = RETRY_S },
        { .status = HTTP_INTERNAL_SERVER_ERROR,
          .detail = "the gateway ended before the end of this request: it had begun, and how it "
                    "would have ended is unknown" },
    };

    problem_reply(x, &problems[begun]);
}

/* Tells everybody who waits, and ends what clients have open. */
static void close_clients(struct server *server)
{
    list_each(at, &server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (e->waiter)
            reply_at_end(e->waiter, life_has_begun(e->state));
        e->waiter = NULL;
        e->ended = NULL;
        reader_drop_all(e);
        websocket_drop_all(e);
    }
    sse_stream_drop_all(server);
    list_each(at, &server->waiting) { /* for cells, builds and the like, or for a look */
        struct exchange *x = link_owner(at, struct exchange, link);

        reply_at_end(x, strcmp(x->method, "GET") != 0);
    }
    visitor_run(server);
    list_each(at, &server->visitors)
        visitor_close(link_owner(at, struct visitor, link));
    visitor_run(server);
    refusals_end(server);
    fronts_close(server);
}

/* Threads that have not ended use the server, and what its requests have: the process then ends
 * with all of it.  What nobody uses is freed, so that programs that run are ended. */
static void close_server(struct server *server)
{
    close_clients(server);
    restoration_close(server);
    list_each(at, &server->executions)
        execution_free(link_owner(at, struct execution, link));
    joblog_close(server->joblog);
    agents_close(server);
    if (server->has_socket)
        (void)unlink(server->options.socket);
    if (offload_is_busy(server))
        return;
    for (size_t i = 0; server->options.dialects[i]; i++)
        if (server->options.dialects[i]->close)
            server->options.dialects[i]->close(server);
    holdings_close(server);
    sbr_runtime_close(server->rt);
    spans_done(&server->spans);
    token_cache_free(server->tokens);
    roots_done(&server->roots);
    config_done(&server->config);
    loop_done(&server->loop);
    free(server);
}

int server_run(const struct server_options *options, sbr_error *err)
{
    struct server *server = calloc(1, sizeof(*server));
    int r;

    if (!server)
        return err_set_oom(err, "http");
    server->options = *options;
    server->tokens = token_cache_new();
    if (!server->tokens) {
        free(server);
        return err_set_oom(err, "http");
    }
    init(server);
    r = open_server(server, err);
    if (r == 0) {
        report_ready(server);
        if (options->ready_fd >= 0) { /* a process that ends closes it, too: the byte says it */
            (void)!write(options->ready_fd, "", 1);
            (void)close(options->ready_fd);
        }
        serve(server);
    }
    close_server(server);
    return r;
}
