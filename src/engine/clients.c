/* Connections: only processes of our user in our own namespaces are accepted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/engine_internal.h"

#define ACCEPT_AT_ONCE 64
#define SILENT_US 2000000ULL /* a client asks as soon as it is connected */
#define PAUSE_US 50000

void client_drop(struct client *client)
{
    struct engine *engine = client->engine;

    lease_end(client);
    loop_remove(&engine->events, &client->watch);
    close(client->fd);
    link_remove(&client->link);
    engine->n_clients--;
    loop_free_later(&engine->events, &client->garbage);
}

/* All texts of the untrusted request must be terminated. */
static bool is_sound(const struct engine_request *request, ssize_t len)
{
    return len == (ssize_t)sizeof(*request) && request->version == ENGINE_VERSION &&
           memchr(request->key, '\0', sizeof(request->key)) &&
           memchr(request->caller, '\0', sizeof(request->caller)) &&
           memchr(request->label, '\0', sizeof(request->label)) &&
           memchr(request->image, '\0', sizeof(request->image)) &&
           memchr(request->language, '\0', sizeof(request->language)) &&
           memchr(request->policy, '\0', sizeof(request->policy));
}

/* Whoever is of another version learns with whom it speaks. */
static void say_hello(const struct client *client)
{
    const struct engine_hello hello = { .version = ENGINE_VERSION,
                                        .mark = ENGINE_HELLO_MARK,
                                        .pid = (int32_t)getpid(),
                                        .release = ENGINE_VERSION_TEXT };

    (void)fd_send(client->fd, &hello, sizeof(hello), NULL, 0);
}

static void handle(struct client *client, const struct engine_request *request, int blueprint_fd)
{
    switch (request->ask) {
    case ENGINE_LEASE:
        if (client->engine->draining) /* for it there is no engine: its run or next stage is cold */
            client_drop(client);
        else
            lease_ask(client, request, blueprint_fd);
        return;
    case ENGINE_DONE:
        lease_end(client);
        break;
    case ENGINE_STATUS:
        reply_status(client);
        break;
    default:
        client_drop(client);
        break;
    }
    leases_admit(client->engine);
}

/* One request per event, so that a client with many requests does not delay the others. */
static void client_spoke(void *context, uint32_t events)
{
    struct client *client = context;
    struct engine_request request;
    int fds[FD_MAX_PASSED];
    size_t n = 0;
    ssize_t len = fd_receive(client->fd, &request, sizeof(request), fds, &n);

    (void)events;
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (is_sound(&request, len > 0 ? len : 0)) {
        handle(client, &request, n && request.has_blueprint ? fds[0] : -1);
    } else {
        if (len > 0) {
            log_info("engine", "%s is of another version; it is dropped", client->process);
            say_hello(client);
        }
        client_drop(client);
        leases_admit(client->engine);
    }
    while (n > 0)
        close(fds[--n]);
}

/* More connections than can queue: replies with a refusal, and closes.  What is closed before its
 * request was read makes the client's socket report an error instead of the reply. */
static void turn_away(int fd)
{
    struct engine_reply reply = reply_of(ENGINE_REFUSED, "the engine has too many connections");
    struct engine_request unused;
    int fds[FD_MAX_PASSED];
    size_t n = 0;

    (void)fd_receive(fd, &unused, sizeof(unused), fds, &n);
    while (n > 0)
        close(fds[--n]);
    (void)fd_send(fd, &reply, sizeof(reply), NULL, 0);
}

/* Runtimes keep connections for later runs, and make a new one where the engine closed one.  Closes
 * the one that was idle for longest; false: all are in use. */
static bool drop_idle(struct engine *engine)
{
    struct client *oldest = NULL;
    uint64_t now_us = clock_now_us();

    list_each(at, &engine->clients) {
        struct client *client = link_owner(at, struct client, link);

        if (client->state == CLIENT_IDLE &&
            (client->was_answered || now_us - client->idle_since_us >= SILENT_US) &&
            (!oldest || client->idle_since_us < oldest->idle_since_us))
            oldest = client;
    }
    if (oldest)
        client_drop(oldest);
    return oldest;
}

static struct client *add_client(struct engine *engine, int fd, const struct ucred *peer)
{
    struct client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    snprintf(client->process, sizeof(client->process), "process %d", (int)peer->pid);
    client->engine = engine;
    client->fd = fd;
    client->reported_position = UINT32_MAX;
    client->idle_since_us = clock_now_us();
    queue_ticket_init(&client->ticket);
    link_init(&client->waiting);
    client->watch = loop_watch_of(fd, client_spoke, client);
    if (loop_add(&engine->events, &client->watch, EPOLLIN) < 0) {
        free(client);
        return NULL;
    }
    list_append(&engine->clients, &client->link);
    engine->n_clients++;
    return client;
}

/* Without a free descriptor: a connection stays in the queue of the socket, which the loop would
 * report again and again. */
static void pause_accepting(struct engine *engine)
{
    if (drop_idle(engine))
        return;
    (void)loop_change(&engine->events, &engine->listener, 0);
    engine->accept_us = clock_now_us() + PAUSE_US;
}

uint64_t clients_accept_again(struct engine *engine, uint64_t now_us)
{
    if (!engine->accept_us || engine->listen_fd < 0)
        return NEVER;
    if (now_us < engine->accept_us)
        return engine->accept_us;
    engine->accept_us = 0;
    (void)loop_change(&engine->events, &engine->listener, EPOLLIN);
    return NEVER;
}

void clients_accept(void *context, uint32_t events)
{
    struct engine *engine = context;

    (void)events;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        scoped_fd int fd = fd_accept(engine->listen_fd, SOCK_NONBLOCK);
        struct client *client;
        struct ucred peer;

        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
            pause_accepting(engine);
        if (fd < 0)
            return;
        if (!peer_is_neighbour(fd, &engine->home, &peer)) {
            engine->n_foreign++;
            log_info("engine", "a connection was refused: another user, or another namespace");
            continue;
        }
        if (engine->n_clients >= engine->max_clients && !drop_idle(engine)) {
            engine->n_refused++;
            turn_away(fd);
            continue;
        }
        client = add_client(engine, fd, &peer);
        if (client) {
            (void)take_fd(fd);
            client_spoke(client, 0); /* most have sent a request already */
        }
    }
}
