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

static int done_fds[2] = { -1, -1 };
static unsigned int working; /* of the loop's thread alone */

static void free_offload(struct offload *o)
{
    for (size_t i = 0; i < ARRAY_LEN(o->words); i++)
        free(o->words[i]);
    sbr_request_free(o->req);
    free(o->body);
    free(o);
}

static void reply(struct offload *o)
{
    char *body = o->body;

    o->body = NULL;
    if (o->r < 0)
        problem_reply_error(o->x, &o->err);
    else
        exchange_reply_bytes(o->x, o->status, o->type ? o->type : JSON_TYPE,
                             body ? body : strdup(""),
                             o->len ? o->len
                             : body ? strlen(body)
                                    : 0);
    if (o->r < 0)
        free(body);
}

static void work_done(void *context, uint32_t events)
{
    struct offload *o;

    (void)context;
    (void)events;
    if (read(done_fds[0], &o, sizeof(o)) != (ssize_t)sizeof(o))
        return;
    working--;
    if (o->done)
        o->done(o, o->r < 0 ? &o->err : NULL);
    if (o->x)
        reply(o);
    free_offload(o);
}

int offload_open(struct server *server, sbr_error *err)
{
    if (pipe2(done_fds, O_CLOEXEC) < 0)
        return err_set_errno(err, "http", "cannot make a pipe");
    server->offload = loop_watch_of(done_fds[0], work_done, server);
    if (loop_add(&server->loop, &server->offload, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot watch a pipe");
    return 0;
}

static void *work(void *context)
{
    struct offload *o = context;

    o->r = o->work(o, &o->err);
    (void)!fd_write_all(done_fds[1], &o, sizeof(o));
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

void offload_start(struct exchange *x, const struct offload *given)
{
    struct offload *o = malloc(sizeof(*o));

    if (o) {
        *o = *given;
        o->server = x->server;
        o->tenant = x->tenant;
        o->x = x;
        o->status = o->status ? o->status : x->route->status;
    }
    if (!o || working >= OFFLOAD_MAX || start_thread(o) < 0) {
        problem_reply(x, &(struct problem){ .status = MHD_HTTP_TOO_MANY_REQUESTS,
                                            .detail = "too many requests of this kind wait",
                                            .retry_s = 1 });
        if (o)
            free_offload(o);
        return;
    }
    working++;
    exchange_wait(x, client_left, o);
}

bool offload_is_busy(void)
{
    return working > 0;
}
