#include "http/fronts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/policy.h"
#include "wire/front.h"

#define CONFIG_MAX (1 << 20)
#define START_MS 10000
#define ANSWER_TICKS                                                                               \
    10 /* a front that says nothing for so long hangs; none pass while all stand still */
#define END_MS 2000        /* a front gives itself less */
#define ACCEPTS_AT_ONCE 64 /* of one listener, before others have their turn */
#define FIRST_SPARE_FD 10  /* above those that a front finds open */

/* All that a front knows, in the order in which it reads it. */
static int store_config(const struct server *server, const char *certificate, const char *key,
                        sbr_error *err)
{
    const struct policy_filter *filter = &policy_find("front")->filter;
    struct buf out;
    int fd = -1;

    buf_init(&out, CONFIG_MAX);
    buf_put_u32(&out, server->options.connections);
    buf_put_u32(&out, geteuid() == 0 ? FRONT_FIXED_ID : 0);
    buf_put_bytes(&out, filter->insns, filter->len * sizeof(*filter->insns));
    buf_put_string(&out, certificate);
    buf_put_string(&out, key);
    buf_put_string(&out, getenv("SANDBOX_RUN_TEST_WITHOUT"));
    if (!out.failed)
        fd = fd_sealed_memory("front", out.data, out.len, 0);
    if (out.data)
        explicit_bzero(out.data, out.len);
    buf_done(&out);
    return fd < 0 ? err_set_errno(err, "http", "cannot store what a front needs") : fd;
}

/* Beside this program. */
static int find_program(char *path, size_t size, sbr_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (n <= 0)
        return err_set_errno(err, "http", "cannot find this program's directory");
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + sizeof("/" FRONT_NAME) > size)
        return err_set(err, SBR_E_SYSTEM, "http", "the path of this program is too long");
    snprintf(slash, size - (size_t)(slash - path), "/" FRONT_NAME);
    return 0;
}

/* Another program, not a copy of this one: a front has none of this process's memory, and learns
 * nothing about where things are in it. */
static int spawn(struct server_socket *s, int link, sbr_error *err)
{
    char path[4096], name[] = FRONT_NAME, *const words[] = { name, NULL };
    char *const nothing[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    if (find_program(path, sizeof(path), err) < 0)
        return err->code;
    sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, link, FRONT_LINK);
    (void)posix_spawn_file_actions_adddup2(&actions, s->config, FRONT_CONFIG);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(&s->pid, path, &actions, &attributes, words, nothing);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (r == 0)
        return 0;
    s->pid = 0;
    return err_set(err, SBR_E_SYSTEM, "http", "cannot start '%.200s': %s", path, strerror(r));
}

static int start(struct server_socket *s, sbr_error *err)
{
    int ends[2], moved;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return err_set_errno(err, "http", "cannot make a socket for a front");
    moved = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
    close(ends[1]);
    if (moved < 0 || spawn(s, moved, err) < 0) {
        scope_close_fd(&moved);
        close(ends[0]);
        return moved < 0 ? err_set_errno(err, "http", "no descriptor is left") : err->code;
    }
    close(moved);
    s->link.fd = ends[0];
    return 0;
}

/* The first message: an empty text when it serves, or why it cannot. */
static int take_first_word(struct server_socket *s, sbr_error *err)
{
    char text[sizeof(err->message)] = "";
    ssize_t n;

    n = recv(s->link.fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n == 1 && !text[0])
        return 0;
    return err_set(err, SBR_E_SYSTEM, "http", "%s",
                   n > 0 ? text : "the front, which reads what clients send, does not start");
}

/* Only before the gateway serves. */
static int wait_until_ready(struct server_socket *s, sbr_error *err)
{
    struct pollfd ready = { .fd = s->link.fd, .events = POLLIN };

    while (poll(&ready, 1, START_MS) < 0 && errno == EINTR)
        continue;
    return take_first_word(s, err);
}

/* False: it has not ended yet. */
static bool reap(struct server_socket *s, int options)
{
    pid_t r = 0;

    while (s->ended > 0 && (r = waitpid(s->ended, NULL, options)) < 0 && errno == EINTR)
        continue;
    if (s->ended > 0 && r == 0)
        return false;
    s->ended = 0;
    return true;
}

/* A front may have closed its link and live on: it is not asked.  Nothing waits for its end, which
 * fronts_tick takes. */
static void kill_front(struct server_socket *s)
{
    if (s->pid > 0) {
        (void)kill(s->pid, SIGKILL);
        s->ended = s->pid;
    }
    s->pid = 0;
    scope_close_fd(&s->link.fd);
    s->link.fd = -1;
}

/* Its channels end with it, so that its clients and their runs do. */
static void end_front(struct server_socket *s, const char *why)
{
    loop_remove(&s->server->loop, &s->link);
    loop_remove(&s->server->loop, &s->listener);
    kill_front(s);
    dprintf(STDERR_FILENO, "sandbox-run-http: the front at %s %s; another one is started\n",
            s->which == SERVER_AT_TCP ? "TCP" : "the unix socket", why);
}

/* Behind its first message a front says one byte each time when it was asked whether it lives. */
static bool has_answered(struct server_socket *s)
{
    char text[64];
    ssize_t n;

    while ((n = recv(s->link.fd, text, sizeof(text), MSG_DONTWAIT)) == 1 && !text[0])
        s->unanswered = 0;
    return n < 0 && errno == EAGAIN;
}

static void link_event(void *context, uint32_t events)
{
    struct server_socket *s = context;

    if (events & EPOLLOUT) { /* it takes connections again: fronts_run lets them come */
        s->full = false;
        (void)loop_change(&s->server->loop, &s->link, EPOLLIN);
    }
    if (events & EPOLLIN && !(events & (EPOLLHUP | EPOLLERR)) && has_answered(s))
        return;
    if (events != EPOLLOUT)
        end_front(s, "ended");
}

static bool is_plain(const struct server_socket *s)
{
    return s->which != SERVER_AT_TCP || !s->server->options.key;
}

/* To the front, with one end of a channel. */
static void pass_on(struct server_socket *s, int fd, const struct visitor_peer *peer)
{
    int ends[2], passed[2];
    struct visitor *visitor;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return;
    visitor = visitor_new(s->server, s->which, ends[0], is_plain(s) ? fd : -1, peer);
    passed[0] = fd;
    passed[1] = ends[1];
    if (visitor && fd_send(s->link.fd, "", 1, passed, 2) < 0)
        visitor_close(visitor);
    close(ends[1]);
}

/* A program in a sandbox may find the unix socket in a volume: it lives in other namespaces. */
static bool is_welcome(const struct server_socket *s, int fd)
{
    return s->which == SERVER_AT_TCP || peer_is_neighbour(fd, &s->server->home, NULL);
}

/* False while a front that is busy has not taken those before. */
static bool link_has_room(struct server_socket *s)
{
    struct pollfd room = { .fd = s->link.fd, .events = POLLOUT };

    s->full = poll(&room, 1, 0) == 0;
    if (s->full)
        (void)loop_change(&s->server->loop, &s->link, EPOLLIN | EPOLLOUT);
    return !s->full;
}

static void client_came(void *context, uint32_t events)
{
    struct server_socket *s = context;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        scoped_fd int fd = -1;
        struct visitor_peer peer;

        /* others wait in the kernel */
        if (!places_are_left(s) || !link_has_room(s)) {
            (void)loop_change(&s->server->loop, &s->listener, 0);
            return;
        }
        fd = fd_accept(s->listener.fd, SOCK_NONBLOCK);
        if (fd < 0) {
            s->starved = errno == EMFILE || errno == ENFILE;
            (void)loop_change(&s->server->loop, &s->listener, s->starved ? 0 : EPOLLIN);
            return;
        }
        peer = places_peer(fd);
        if (is_welcome(s, fd) && places_make_room(s, &peer))
            pass_on(s, fd, &peer);
    }
}

static int serve(struct server_socket *s, sbr_error *err)
{
    struct loop *loop = &s->server->loop;

    s->link = loop_watch_of(s->link.fd, link_event, s);
    s->full = false;
    s->unanswered = 0;
    s->listener = loop_watch_of(s->listener.fd, client_came, s);
    if (loop_add(loop, &s->link, EPOLLIN) < 0 || loop_add(loop, &s->listener, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot watch the socket");
    return 0;
}

int fronts_open(struct server *server, unsigned int which, int listener, const char *certificate,
                const char *key, sbr_error *err)
{
    struct server_socket *s = &server->sockets[which];
    int config = store_config(server, certificate, key, err);

    s->server = server;
    s->which = which;
    s->listener.fd = listener;
    if (config < 0)
        return err->code;
    s->config = fcntl(config, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
    close(config);
    if (s->config < 0)
        return err_set_errno(err, "http", "no descriptor is left");
    return start(s, err);
}

int fronts_wait(struct server *server, sbr_error *err)
{
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        if (s->pid > 0 && (wait_until_ready(s, err) < 0 || serve(s, err) < 0))
            return err->code;
    }
    return 0;
}

void fronts_run(struct server *server)
{
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        if (s->listener.on && !s->listener.events && !s->starved && !s->full && places_are_left(s))
            (void)loop_change(&server->loop, &s->listener, EPOLLIN);
    }
}

static unsigned int answer_ticks(void)
{
#ifdef SBR_TEST_HOOKS
    const char *ticks = getenv("SANDBOX_RUN_TEST_ANSWER");

    if (ticks)
        return (unsigned int)strtoul(ticks, NULL, 10);
#endif
    return ANSWER_TICKS;
}

static void give_up(struct server_socket *s, const sbr_error *err)
{
    dprintf(STDERR_FILENO, "sandbox-run-http: %s\n", err->message);
    loop_remove(&s->server->loop, &s->link);
    kill_front(s);
}

/* The first message of a front that was started again. */
static void first_word(void *context, uint32_t events)
{
    struct server_socket *s = context;
    sbr_error err;

    (void)events;
    loop_remove(&s->server->loop, &s->link);
    if (take_first_word(s, &err) < 0 || serve(s, &err) < 0)
        give_up(s, &err);
}

/* The loop goes on while it starts. */
static void start_again(struct server_socket *s)
{
    sbr_error err;

    if (start(s, &err) < 0) {
        give_up(s, &err);
        return;
    }
    s->link = loop_watch_of(s->link.fd, first_word, s);
    s->unanswered = 0;
    if (loop_add(&s->server->loop, &s->link, EPOLLIN) == 0)
        return;
    err_set_errno(&err, "http", "cannot watch a front");
    give_up(s, &err);
}

/* One that does not answer is ended: its clients would wait for ever. */
static void ask(struct server_socket *s)
{
    sbr_error err;

    if (s->unanswered++ == 0 && s->listener.on)
        (void)send(s->link.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* a full link is not read */
    if (s->unanswered <= answer_ticks())
        return;
    if (s->listener.on) {
        end_front(s, "did not answer");
        return;
    }
    err_set(&err, SBR_E_SYSTEM, "http", "the front, which reads what clients send, does not start");
    give_up(s, &err);
}

void fronts_tick(struct server *server)
{
    for (unsigned int i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        s->starved = false;
        if (s->listener.fd < 0 || server->ending)
            continue;
        if (s->pid > 0)
            ask(s);
        else if (reap(s, WNOHANG))
            start_again(s);
    }
}

void fronts_release(struct server *server)
{
    for (size_t i = 0; i < SERVER_SOCKETS; i++)
        loop_close(&server->loop, &server->sockets[i].listener);
    if (server->has_socket)
        (void)unlink(server->options.socket);
    server->has_socket = false;
}

static void wait_for_end(const struct server_socket *s)
{
    struct pollfd ended = { .fd = s->link.fd };

    while (poll(&ended, 1, END_MS) < 0 && errno == EINTR)
        continue;
}

void fronts_close(struct server *server)
{
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        loop_remove(&server->loop, &s->link);
        loop_remove(&server->loop, &s->listener);
        if (s->link.fd >= 0)
            (void)shutdown(s->link.fd, SHUT_WR);
    }
    for (size_t i = 0; i < SERVER_SOCKETS; i++) {
        struct server_socket *s = &server->sockets[i];

        if (s->pid > 0)
            wait_for_end(s);
        kill_front(s);
        (void)reap(s, 0);
        scope_close_fd(&s->listener.fd);
        scope_close_fd(&s->config);
        s->listener.fd = s->config = -1;
    }
}
