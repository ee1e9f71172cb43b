/* Routes of /v1/sessions, but for cells. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "http/admission.h"
#include "http/body.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/server.h"
#include "http/submission.h"
#include "lib/runner.h"
#include "session/session_memory.h"

enum { WORD_OWN, WORD_ID, WORD_CALL, WORD_PATH };

/* Fills the two ids of an offload; on failure replies. */
static bool name_session(struct exchange *x, struct offload *o)
{
    struct ownership found;
    sbr_error err;

    if (ownership_find(&x->tenant, x->words[0], &found, &err) < 0) {
        problem_reply_error(x, &err);
        return false;
    }
    o->words[WORD_OWN] = strdup(found.own);
    o->words[WORD_ID] = strdup(found.id);
    return true;
}

/* An answer of the library with the ids that the tenant knows; `of`: what it was forked from. */
static char *rename_answer(char *text, const char *id, const char *of)
{
    json_t *answer = json_read_own(text, 0);
    char *renamed;

    if (json_object_get(answer, "id"))
        json_object_set_new(answer, "id", json_string(id));
    if (json_object_get(answer, "of"))
        json_object_set_new(answer, "of", json_string(of ? of : id));
    renamed = answer ? json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(answer);
    free(text);
    return renamed;
}

static int call_session(struct offload *o, sbr_error *err)
{
    sbr_session *s;
    int r = sbr_session_open(o->words[WORD_OWN], &s, err);

    if (r < 0)
        return r;
    r = sbr_session_call(s, o->words[WORD_CALL], &o->body, err);
    sbr_session_free(s);
    if (r == 0)
        o->body = rename_answer(o->body, o->words[WORD_ID], NULL);
    return r;
}

static void ask(struct exchange *x, char *call)
{
    struct offload o = { .work = call_session };

    o.words[WORD_CALL] = call;
    if (name_session(x, &o))
        offload_start(x, &o);
    else
        free(call);
}

void sessions_get(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"info\"}"));
}

void sessions_vars(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"vars\"}"));
}

void sessions_metrics(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"metrics\"}"));
}

void sessions_interrupt(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"interrupt\"}"));
}

void sessions_restart(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"restart\"}"));
}

void sessions_checkpoint(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"checkpoint\"}"));
}

void sessions_rollback(struct exchange *x)
{
    json_t *body = submission_body(x);
    json_int_t cell = json_integer_value(json_object_get(body, "cell"));

    if (!body)
        return;
    json_decref(body);
    ask(x, text_format("{\"op\":\"rollback\",\"cell\":%lld}", (long long)cell));
}

/* Of how long a session lives; 0: the default. */
static uint64_t take_bound(json_t *body, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(body, key));

    (void)json_object_del(body, key);
    return value > 0 ? (uint64_t)value : 0;
}

/* A session that was made becomes the tenant's, or is ended.  Takes the answer over. */
static int own_session(struct offload *o, char *text, sbr_error *err)
{
    struct ownership owner;
    json_t *made = json_read_own(text, 0);
    int r;

    snprintf(owner.own, sizeof(owner.own), "%s", json_string_value(json_object_get(made, "id")));
    json_decref(made);
    r = ownership_add(&o->tenant, &owner, err);
    if (r < 0) {
        sbr_error ignored;

        (void)!sbr_session_close(owner.own, &ignored);
        free(text);
        return r;
    }
    o->body = rename_answer(text, owner.id, o->words[WORD_ID]);
    free(o->words[WORD_ID]);
    o->words[WORD_ID] = strdup(owner.id);
    return 0;
}

/* A session that is being made. */
struct making {
    sbr_session_bounds bounds;
    uint64_t memory; /* that it may use, which is reserved */
};

static int create_session(struct offload *o, sbr_error *err)
{
    const struct making *making = o->extra;
    char *text = NULL;
    int r = sbr_session_create(o->req, &making->bounds, &text, err);

    return r < 0 ? r : own_session(o, text, err);
}

static void session_made(struct offload *o, const sbr_error *err)
{
    const struct making *making = o->extra;

    admission_end_session(o->server, making->memory);
    free(o->extra);
    if (err || !o->x)
        return;
    o->location = text_format("/v1/sessions/%s", o->words[WORD_ID]);
}

static int fork_session(struct offload *o, sbr_error *err)
{
    sbr_session *s;
    char *text = NULL;
    int r = sbr_session_open(o->words[WORD_OWN], &s, err);

    if (r < 0)
        return r;
    r = sbr_session_call(s, "{\"op\":\"fork\"}", &text, err);
    sbr_session_free(s);
    return r < 0 ? r : own_session(o, text, err);
}

static void count_one(void *context, const struct ownership *o)
{
    (void)o;
    ++*(unsigned int *)context;
}

static bool has_room(struct exchange *x)
{
    unsigned int n = 0;
    sbr_error err;

    if (!x->tenant.sessions || ownership_each(&x->tenant, count_one, &n, &err) < 0 ||
        n < x->tenant.sessions)
        return true;
    problem_reply(x, &(struct problem){ .status = HTTP_TOO_MANY_REQUESTS,
                                        .detail = "the tenant has as many sessions as its token "
                                                  "allows",
                                        .remedy = "end one with DELETE /v1/sessions/ID",
                                        .retry_s = 1 });
    return false;
}

/* Reserves the memory and lets a thread make the session; takes over what `o` has. */
static void make_session(struct exchange *x, struct offload *o, const struct making *making)
{
    sbr_error err;

    o->extra = malloc(sizeof(*making));
    if (!o->extra)
        err_set_oom(&err, "http");
    if (o->extra && admission_begin_session(x->server, making->memory, &err) == 0) {
        memcpy(o->extra, making, sizeof(*making));
        offload_start(x, o);
        return;
    }
    problem_reply_error(x, &err);
    sbr_request_free(o->req);
    free(o->extra);
    free(o->words[WORD_OWN]);
    free(o->words[WORD_ID]);
}

void sessions_fork(struct exchange *x)
{
    struct offload o = { .work = fork_session, .done = session_made };
    struct making making = { .memory = 0 };

    if (!has_room(x) || !name_session(x, &o))
        return;
    making.memory = session_memory_of(o.words[WORD_OWN]);
    make_session(x, &o, &making);
}

void sessions_take_bounds(json_t *body, sbr_session_bounds *ret)
{
    *ret = (sbr_session_bounds){ .struct_size = sizeof(*ret),
                                 .idle_ms = take_bound(body, "idle_ms"),
                                 .age_ms = take_bound(body, "age_ms"),
                                 .freeze_ms = take_bound(body, "freeze_ms") };
}

/* NULL: replied. */
static sbr_request *request_of(struct exchange *x, sbr_session_bounds *ret)
{
    struct submission_fault fault = { .status = 0 };
    struct body_read *read = x->read;
    sbr_request *req = NULL;
    json_t *body;

    if (read && read->req) {
        *ret = read->bounds;
        return take_ptr(read->req);
    }
    body = submission_body(x);
    if (!body)
        return NULL;
    sessions_take_bounds(body, ret);
    if (submission_read(x->server, &x->tenant, body, &req, &fault) < 0)
        submission_refuse(x, &fault);
    json_decref(body);
    return req;
}

void sessions_create(struct exchange *x)
{
    struct offload o = { .work = create_session, .done = session_made };
    struct making making;

    o.req = has_room(x) ? request_of(x, &making.bounds) : NULL;
    if (!o.req)
        return;
    making.memory = runner_memory_of(o.req);
    make_session(x, &o, &making);
}

/* Sessions by the ids of the library, and those of one tenant. */
struct session_rows {
    const json_t *all;
    json_t *found;
};

static void add_row(void *context, const struct ownership *o)
{
    struct session_rows *rows = context;
    json_t *row, *copy;
    size_t i;

    json_array_foreach(rows->all, i, row) {
        const char *id = json_string_value(json_object_get(row, "id"));

        if (!id || strcmp(id, o->own) != 0)
            continue;
        copy = json_copy(row);
        json_object_set_new(copy, "id", json_string(o->id));
        json_array_append_new(rows->found, copy);
    }
}

static int list_sessions(struct offload *o, sbr_error *err)
{
    struct session_rows rows = { .found = NULL };
    json_t *all;
    int r = sbr_session_list(&o->body, err);

    if (r < 0 || o->tenant.local)
        return r;
    all = json_read_own(o->body, 0);
    rows = (struct session_rows){ json_object_get(all, "sessions"), json_array() };
    r = ownership_each(&o->tenant, add_row, &rows, err);
    json_object_set_new(all, "sessions", rows.found);
    free(o->body);
    o->body = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(all);
    return r;
}

void sessions_list(struct exchange *x)
{
    offload_start(x, &(struct offload){ .work = list_sessions });
}

/* What a session with `keep` has left is its tenant's. */
static void note_changes(const struct offload *o)
{
    json_t *answer = json_read_own(o->body, 0);
    const char *id = json_string_value(json_object_get(answer, "changes_id"));

    if (id && encoding_is_hex(id, OWNERSHIP_ID_SIZE - 1))
        ownership_note_changes(o->tenant.name, id);
    json_decref(answer);
}

static int end_session(struct offload *o, sbr_error *err)
{
    struct ownership owner;
    int r = sbr_session_finish(o->words[WORD_OWN], &o->body, err);

    if (r == 0)
        note_changes(o);
    if (r == 0)
        o->body = rename_answer(o->body, o->words[WORD_ID], NULL);
    if (r == 0 || err->code == SBR_E_NOT_FOUND) {
        snprintf(owner.id, sizeof(owner.id), "%s", o->words[WORD_ID]);
        ownership_forget(&o->tenant, &owner);
    }
    return r;
}

static void session_ended(struct offload *o, const sbr_error *err)
{
    (void)err;
    admission_end_session(o->server, 0);
}

void sessions_end(struct exchange *x)
{
    struct offload o = { .work = end_session, .done = session_ended };

    if (name_session(x, &o))
        offload_start(x, &o);
}

/* The document of a call about one file. */
static char *file_call(const char *op, const char *path, const struct buf *data)
{
    scoped_free char *base64 =
        data ? encoding_to_base64(data->data ? data->data : "", data->len) : NULL;
    json_t *call = json_pack("{s:s, s:s}", "op", op, "path", path);
    char *text;

    if (data)
        json_object_set_new(call, "data_b64", json_string(base64));
    text = call ? json_dumps(call, JSON_COMPACT) : NULL;
    json_decref(call);
    return text;
}

void sessions_files(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"files\"}"));
}

void sessions_put_file(struct exchange *x)
{
    ask(x, file_call("put", x->words[1], &x->body));
}

static int get_file(struct offload *o, sbr_error *err)
{
    json_t *answer;
    const char *base64;
    int r = call_session(o, err);

    if (r < 0)
        return r;
    answer = json_read_own(o->body, 0);
    base64 = json_string_value(json_object_get(answer, "data_b64"));
    free(take_ptr(o->body));
    if (!base64 || encoding_from_base64(base64, &o->body, &o->len) < 0)
        r = err_set(err, SBR_E_BUG, "session", "the session sent no file");
    o->exact = true;
    json_decref(answer);
    return r;
}

void sessions_get_file(struct exchange *x)
{
    struct offload o = { .work = get_file, .type = BYTES_TYPE };

    if (!name_session(x, &o))
        return;
    o.words[WORD_CALL] = file_call("get", x->words[1], NULL);
    offload_start(x, &o);
}

void sessions_delete_file(struct exchange *x)
{
    ask(x, file_call("remove", x->words[1], NULL));
}
