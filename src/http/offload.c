#include "http/offload.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/server.h"

#define STACK_SIZE ((size_t)1 << 20)

/* What a thread tells the loop. */
struct message {
    struct offload *offload;
    char *line; /* NULL: the work is done */
    size_t len;
};

static void free_offload(struct offload *o)
{
    for (size_t i = 0; i < ARRAY_LEN(o->words); i++)
        free(o->words[i]);
    ledger_give_back(o->held);
    sbr_request_free(o->req);
    free(o->location);
    free(o->body);
    free(o);
}

static void reply(struct offload *o)
{
    char *body = o->body;
    size_t len;

    o->body = NULL;
    if (!o->type && !o->exact && !o->len)
        body = roots_hide(&o->server->roots, o->tenant.name, body);
    len = !body ? 0 : o->len || o->exact ? o->len : strlen(body);
    if (o->r < 0) {
        roots_hide_in(&o->server->roots, o->tenant.name, o->err.message, sizeof(o->err.message));
        problem_reply_error(o->x, &o->err);
        free(body);
        return;
    }
    exchange_reply_bytes(o->x, o->status, o->type ? o->type : JSON_TYPE, body ? body : strdup(""),
                         len);
    if (o->location)
        exchange_add_header(o->x, HTTP_HEADER_LOCATION, o->location);
}

static void work_done(struct offload *o)
{
    o->server->offload.working--;
    link_remove(&o->link);
    if (o->done)
        o->done(o, o->r < 0 ? &o->err : NULL);
    if (o->x)
        reply(o);
    free_offload(o);
}

static void message_came(void *context, uint32_t events)
{
    struct server *server = context;
    struct message message;

    (void)events;
    if (read(server->offload.done[0], &message, sizeof(message)) != (ssize_t)sizeof(message))
        return;
    if (!message.line) {
        work_done(message.offload);
        return;
    }
    if (message.offload->line)
        message.offload->line(message.offload, message.line, message.len);
    free(message.line);
}

void offload_post(struct offload *o, const char *line, size_t len)
{
    struct message message = { o, strndup(line, len), len };

    if (message.line)
        (void)!fd_write_all(o->server->offload.done[1], &message, sizeof(message));
}

int offload_open(struct server *server, sbr_error *err)
{
    struct server_offload *own = &server->offload;

    if (pipe2(own->done, O_CLOEXEC) < 0)
        return err_set_errno(err, "http", "cannot make a pipe");
    own->watch = loop_watch_of(own->done[0], message_came, server);
    if (loop_add(&server->loop, &own->watch, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot watch a pipe");
    return 0;
}

static void *work(void *context)
{
    struct offload *o = context;
    const struct message message = { .offload = o };

    o->r = o->work(o, &o->err);
    (void)!fd_write_all(o->server->offload.done[1], &message, sizeof(message));
    return NULL;
}

static void client_left(struct exchange *x)
{
    struct offload *o = x->subject;

    o->x = NULL;
    if (o->left)
        o->left(o);
}

static int start_thread(struct offload *o)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    if (pthread_attr_init(&attributes) != 0)
        return -1;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = pthread_create(&thread, &attributes, work, o);
    (void)pthread_attr_destroy(&attributes);
    return r == 0 ? 0 : -1;
}

static bool is_started(struct offload *o)
{
    if (!o || o->server->offload.working >= OFFLOAD_MAX || start_thread(o) < 0)
        return false;
    o->server->offload.working++;
    link_init(&o->link);
    list_append(&o->server->offload.at_work, &o->link);
    return true;
}

int offload_start_own(struct server *server, const struct offload *given)
{
    struct offload *o = malloc(sizeof(*o));

    if (o) {
        *o = *given;
        o->server = server;
    }
    if (is_started(o))
        return 0;
    free(o);
    return -1;
}

/* Calls of one tenant may wait for each other for hours, as cells of a session do. */
static bool has_room(const struct server *server, const struct grant *tenant)
{
    unsigned int own = 0;

    list_each(at, (struct link *)&server->offload.at_work)
        own += !strcmp(link_owner(at, struct offload, link)->tenant.name, tenant->name);
    return tenant->local || own < OFFLOAD_TENANT_MAX;
}

static struct offload *begin(struct exchange *x, const struct offload *given)
{
    struct offload *o = malloc(sizeof(*o));

    if (o) {
        *o = *given;
        o->server = x->server;
        o->tenant = x->tenant;
        o->status = o->status ? o->status : x->route->status;
    }
    if (has_room(x->server, &x->tenant) && is_started(o))
        return o;
    problem_reply(x, &(struct problem){ .status = HTTP_TOO_MANY_REQUESTS,
                                        .detail = "too many requests of this kind wait",
                                        .retry_s = 1 });
    if (o && o->done) {
        err_set(&o->err, SBR_E_BUSY, "http", "too many requests of this kind wait");
        o->done(o, &o->err);
    }
    if (o)
        free_offload(o);
    return NULL;
}

/* The thread may be done before this returns: only the loop, later, looks at `x`. */
void offload_start(struct exchange *x, const struct offload *given)
{
    struct offload *o = begin(x, given);

    if (!o)
        return;
    o->x = x;
    exchange_wait(x, client_left, o);
}

int offload_start_alone(struct exchange *x, const struct offload *given)
{
    return begin(x, given) ? 0 : -1;
}

bool offload_is_busy(const struct server *server)
{
    return server->offload.working > 0;
}
