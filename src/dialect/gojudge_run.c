/* POST /run: commands at the same time, with pipes between them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dialect/gojudge.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/server.h"

#define COMMANDS_MAX 16
#define LARGE ((size_t)256 << 10) /* of kept files */

struct gojudge_run {
    struct apart apart;
    struct server *server;
    struct exchange *x; /* NULL: the client left */
    char message[200];  /* why nothing begins; empty: it does */
    json_t *body;
    struct grant tenant;
    size_t n, left;
    struct gojudge_command commands[COMMANDS_MAX];
};

static void close_ends(struct gojudge_command *c)
{
    scope_close_fd(&c->in);
    scope_close_fd(&c->out);
}

static void free_command(struct gojudge_command *c)
{
    close_ends(c);
    gojudge_drop_dir(c);
    sbr_request_free(c->req);
    for (size_t i = 0; i < c->n_held; i++)
        response_text_drop(c->held[i]);
    for (size_t i = 0; i < c->n_left; i++) {
        free(c->left[i].name);
        response_text_drop(c->left[i].content);
    }
    free(c->held);
    free(c->left);
    json_decref(c->result);
}

static void free_run(struct gojudge_run *run)
{
    for (size_t i = 0; i < run->n; i++)
        free_command(&run->commands[i]);
    json_decref(run->body);
    free(run);
}

static void finish(struct gojudge_run *run)
{
    json_t *results = json_array();

    for (size_t i = 0; i < run->n; i++)
        json_array_append_new(results, take_ptr(run->commands[i].result));
    if (run->x)
        translate_reply(run->x, HTTP_OK, results);
    else
        json_decref(results);
    free_run(run);
}

static void command_ended(struct execution *e, void *context)
{
    struct gojudge_command *c = context;
    struct gojudge_run *run = c->run;

    c->result = e->is_error ? gojudge_failure(e->err.message) : json_incref(e->digested);
    c->execution = NULL;
    gojudge_store_left(c, c->result);
    close_ends(c); /* the other side of a pipe learns of it */
    gojudge_drop_dir(c);
    if (--run->left == 0)
        finish(run);
}

static void client_left(struct exchange *x)
{
    struct gojudge_run *run = x->subject;

    run->x = NULL;
    for (size_t i = 0; i < run->n; i++)
        if (run->commands[i].execution)
            execution_cancel(run->commands[i].execution);
}

/* {"index", "fd"}; NULL: it is none of a command, or not this descriptor. */
static struct gojudge_command *end_of(struct gojudge_run *run, const json_t *end, int fd)
{
    json_int_t index = json_integer_value(json_object_get(end, "index"));

    if (index < 0 || (size_t)index >= run->n ||
        json_integer_value(json_object_get(end, "fd")) != fd)
        return NULL;
    return &run->commands[index];
}

static int add_pipe(struct gojudge_run *run, const json_t *pipe, char message[200])
{
    struct gojudge_command *from = end_of(run, json_object_get(pipe, "in"), STDOUT_FILENO);
    struct gojudge_command *to = end_of(run, json_object_get(pipe, "out"), STDIN_FILENO);
    int fds[2];

    if (!from || !to || from->out >= 0 || to->in >= 0) {
        snprintf(message, 200,
                 "pipeMapping: a pipe goes from stdout of one command to stdin of one");
        return -1;
    }
    if (json_string_length(json_object_get(pipe, "name"))) {
        snprintf(message, 200, "pipeMapping: what passes through a pipe is not collected here");
        return -1;
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        snprintf(message, 200, "pipeMapping: there is no pipe left");
        return -1;
    }
    to->in = fds[0];
    from->out = fds[1];
    return 0;
}

static int add_pipes(struct gojudge_run *run, char message[200])
{
    const json_t *pipe;
    size_t i;

    json_array_foreach(json_object_get(run->body, "pipeMapping"), i, pipe)
        if (add_pipe(run, pipe, message) < 0)
            return -1;
    return 0;
}

/* Before the first dispatch of its job. */
static int pass_ends(struct gojudge_command *c)
{
    return (c->in < 0 || sbr_job_pass(c->execution->job, SBR_STDIN, c->in) == 0) &&
                   (c->out < 0 || sbr_job_pass(c->execution->job, SBR_STDOUT, c->out) == 0)
               ? 0
               : -1;
}

static void start(struct gojudge_run *run, struct gojudge_command *c)
{
    const struct submission_extra extra = { .mode = EXECUTION_WAITED };

    if (!c->req || submission_launch(run->server, &run->tenant, take_ptr(c->req), &extra,
                                     &c->execution, &c->fault) < 0) {
        c->execution = NULL;
        roots_hide_in(&run->server->roots, run->tenant.name, c->fault.err.message,
                      sizeof(c->fault.err.message));
        c->result = gojudge_failure(c->fault.err.message);
        close_ends(c);
        return;
    }
    if (pass_ends(c) < 0)
        execution_cancel(c->execution);
    c->execution->digest = gojudge_result;
    c->execution->ended = command_ended;
    c->execution->ended_context = c;
    run->left++;
}

static int read_command(struct gojudge_run *run, struct gojudge_command *c)
{
    json_t *request = gojudge_request(c, run->message);

    if (!request)
        return -1;
    if (submission_read(run->server, &run->tenant, request, &c->req, &c->fault) == 0 &&
        gojudge_add(c->req, c, &c->fault.err) < 0)
        sbr_request_free(take_ptr(c->req));
    json_decref(request);
    return 0;
}

/* All are read before the first begins. */
static void read_all(struct apart *a)
{
    struct gojudge_run *run = link_owner(a, struct gojudge_run, apart);

    for (size_t i = 0; i < run->n; i++)
        if (read_command(run, &run->commands[i]) < 0)
            return;
    (void)add_pipes(run, run->message);
}

static void start_all(struct apart *a, struct exchange *x)
{
    struct gojudge_run *run = link_owner(a, struct gojudge_run, apart);

    if (x && run->message[0])
        translate_reply(x, HTTP_BAD_REQUEST, json_string(run->message));
    if (!x || run->message[0]) {
        free_run(run);
        return;
    }
    run->x = x;
    run->left = 1; /* this one, until all have begun */
    for (size_t i = 0; i < run->n; i++)
        start(run, &run->commands[i]);
    exchange_wait(x, client_left, run);
    if (--run->left == 0)
        finish(run);
}

static struct gojudge_run *make(struct exchange *x, json_t *body)
{
    struct gojudge_run *run = calloc(1, sizeof(*run));
    const json_t *cmd = json_object_get(body, "cmd");

    if (!run)
        return NULL;
    run->apart = (struct apart){ read_all, start_all };
    run->server = x->server;
    run->body = json_incref(body);
    run->tenant = x->tenant;
    run->n = json_array_size(cmd);
    for (size_t i = 0; i < run->n; i++)
        run->commands[i] = (struct gojudge_command){ .given = json_array_get(cmd, i),
                                                     .run = run,
                                                     .server = run->server,
                                                     .tenant = &run->tenant,
                                                     .dir_lock = -1,
                                                     .in = -1,
                                                     .out = -1 };
    return run;
}

static void begin(struct exchange *x, json_t *body)
{
    struct gojudge_run *run = make(x, body);
    size_t held = 0;

    if (!run) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    for (size_t i = 0; i < run->n; i++) {
        if (gojudge_hold(&run->commands[i], run->message) < 0) {
            start_all(&run->apart, x);
            return;
        }
        held += gojudge_held_bytes(&run->commands[i]);
    }
    apart_do(x, x->read || held > LARGE, &run->apart);
}

void gojudge_run(struct exchange *x)
{
    json_t *body = submission_body(x);
    size_t n = json_array_size(json_object_get(body, "cmd"));

    if (!body)
        return;
    if (n < 1 || n > COMMANDS_MAX)
        translate_reply(x, HTTP_BAD_REQUEST, json_string("no cmd provided, or more than 16"));
    else if (guard_takes(x, n - 1))
        begin(x, body);
    json_decref(body);
}
