/* GET /api/v2/connect: the first message is a request, then stdin and signals come in. */
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "dialect/piston.h"
#include "http/server.h"
#include "http/submission.h"
#include "http/websocket.h"

#define INIT_US (1000 * 1000ULL)

enum close_code {
    ALREADY_INITIALIZED = 4000,
    INITIALIZATION_TIMEOUT,
    NOTIFIED_ERROR,
    NOT_YET_INITIALIZED,
    ONLY_STDIN,
    INVALID_SIGNAL,
    JOB_COMPLETED = 4999
};

static void fail(struct websocket *w, const char *message)
{
    websocket_say(w, json_pack("{s:s, s:s}", "type", "error", "message", message));
    websocket_end(w, NOTIFIED_ERROR, "Notified Error");
}

/* A client that breaks the rules loses its run, too. */
static void give_up(struct websocket *w, enum close_code code, const char *reason)
{
    if (w->execution) {
        execution_cancel(w->execution);
        execution_cancel(w->execution); /* at once */
    }
    websocket_end(w, (uint16_t)code, reason);
}

static void add_exit(json_t *exits, const char *stage, json_t *ended)
{
    json_array_append_new(exits, json_pack("{s:s, s:s, s:O, s:O}", "type", "exit", "stage", stage,
                                           "code", json_object_get(ended, "code"), "signal",
                                           json_object_get(ended, "signal")));
    json_decref(ended);
}

/* The messages of the end: how each stage ended. */
static json_t *digest(const struct execution *e, const json_t *result,
                      const struct output_files *files)
{
    json_t *compile = piston_compile(result), *exits = json_array();
    bool ran = translate_stage(result, "run") || !compile;

    (void)e;
    (void)files;
    if (compile)
        add_exit(exits, "compile", compile);
    if (ran)
        add_exit(exits, "run", piston_stage(result, NULL));
    return exits;
}

static void start(struct websocket *w, const json_t *message, const json_t *request,
                  const struct catalog_row *row)
{
    const struct submission_extra extra = { .mode = EXECUTION_STREAMED };
    struct refusal fault = { 0 };
    const json_t *input = json_object_get(message, "stdin");
    struct execution *e;

    if (submission_begin(w->server, &w->tenant, request, &extra, &e, &fault) < 0) {
        fail(w, fault.err.message);
        return;
    }
    websocket_say(w, json_pack("{s:s, s:s, s:s}", "type", "runtime", "language",
                               row->language->name, "version", row->version));
    e->digest = digest;
    websocket_attach(w, e);
    if (json_is_string(input))
        buf_add(&w->pending, json_string_value(input), json_string_length(input));
}

static void begin(struct websocket *w, const json_t *message)
{
    char text[PISTON_MESSAGE_SIZE] = "the files cannot be read";
    const struct catalog_row *row =
        piston_find(w->visitor->server->catalog, &w->tenant, message, text);
    json_t *request = row ? piston_request(&w->tenant, message, row, text) : NULL;

    if (request)
        start(w, message, request, row);
    else
        fail(w, text);
    json_decref(request);
}

static void take_signal(struct websocket *w, const char *name)
{
    int number = result_signal_number(name);

    if (!number)
        give_up(w, INVALID_SIGNAL, "Invalid signal");
    else if (w->execution && w->execution->job)
        (void)sbr_job_signal(w->execution->job, number);
}

static void message_came(struct websocket *w, const json_t *message)
{
    const char *type = translate_word(message, "type");
    const json_t *data = json_object_get(message, "data");

    if (!message) {
        fail(w, "the message is no JSON");
    } else if (!strcmp(type, "init")) {
        if (w->attached)
            give_up(w, ALREADY_INITIALIZED, "Already Initialized");
        else
            begin(w, message);
    } else if (strcmp(type, "data") != 0 && strcmp(type, "signal") != 0) {
        return;
    } else if (!w->attached) {
        websocket_end(w, NOT_YET_INITIALIZED, "Not yet initialized");
    } else if (!strcmp(type, "signal")) {
        take_signal(w, translate_word(message, "signal"));
    } else if (strcmp(translate_word(message, "stream"), "stdin") != 0) {
        give_up(w, ONLY_STDIN, "Can only write to stdin");
    } else if (json_is_string(data)) {
        buf_add(&w->pending, json_string_value(data), json_string_length(data));
    }
}

static void say_data(struct websocket *w, const json_t *event)
{
    scoped_free char *bytes = NULL;
    size_t len;
    json_t *data = json_incref(json_object_get(event, "data"));

    if (!data && encoding_from_base64(translate_word(event, "data_b64"), &bytes, &len) == 0)
        data = translate_text(bytes, len);
    websocket_say(w, json_pack("{s:s, s:s, s:o}", "type", "data", "stream",
                               translate_word(event, "type"), "data", data));
}

static void say_end(struct websocket *w, const struct execution *e)
{
    json_t *message;
    size_t i;

    if (e->is_error)
        fail(w, e->err.message);
    json_array_foreach(e->digested, i, message)
        websocket_say(w, json_incref(message));
}

static void event_came(struct websocket *w, const struct event_log_line *line)
{
    json_t *event = line->result ? NULL
                                 : json_read(line->text, line->len, &json_read_answer,
                                             JSON_ALLOW_NUL, "the event", NULL);
    const char *type = translate_word(event, "type"), *stage = translate_word(event, "stage");

    if (line->result)
        say_end(w, w->execution);
    else if (!strcmp(type, "stdout") || !strcmp(type, "stderr"))
        say_data(w, event);
    else if (!strcmp(type, "stage") && (!strcmp(stage, "run") || !strcmp(stage, "compile")))
        websocket_say(w, json_pack("{s:s, s:s}", "type", "stage", "stage", stage));
    json_decref(event);
}

static const struct websocket_manner manner = { .text = message_came,
                                                .event = event_came,
                                                .end_code = JOB_COMPLETED,
                                                .end_reason = "Job Completed" };

void piston_connect(struct exchange *x)
{
    if (catalog_is_ready(x))
        websocket_open(x, &manner, NULL, &x->server->unbegun);
}

void piston_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->unbegun) {
        struct websocket *w = link_owner(at, struct websocket, link);

        if (!w->visitor || now_us < w->opened_us + INIT_US)
            continue;
        websocket_end(w, INITIALIZATION_TIMEOUT, "Initialization Timeout");
        websocket_turn(w);
    }
}
