/* Routes of /v1/sessions, but for cells. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/text.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"
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

int sessions_admit(const struct exchange *x, const char *language, uint64_t *timeout_ms,
                   struct refusal *refusal)
{
    struct session_facts facts;
    int r;

    if (x->tenant.local)
        return 0;
    if (ownership_facts(&x->tenant, x->words[0], &facts, &refusal->err) < 0)
        return -1;
    r = admit_cell(&x->tenant, &x->server->config, &facts, language, timeout_ms, refusal);
    session_facts_done(&facts);
    return r;
}

/* What a tenant's token may not have, it may not use in a session of another; false: replied. */
static bool may_use(struct exchange *x)
{
    struct refusal refusal = { 0 };

    if (sessions_admit(x, NULL, NULL, &refusal) == 0)
        return true;
    holdings_refuse(x, &refusal);
    return false;
}

/* A call that only looks at the session, or ends what it does. */
static void ask(struct exchange *x, char *call)
{
    struct offload o = { .work = call_session };

    o.words[WORD_CALL] = call;
    if (name_session(x, &o))
        offload_start(x, &o);
    else
        free(call);
}

/* A call that runs something inside, or changes it: it is a run as a cell is. */
static void ask_to_run_by(struct exchange *x, struct offload *o, char *call)
{
    o->words[WORD_CALL] = call;
    if (name_session(x, o) && may_use(x) &&
        (o->held = holdings_take(x, &(struct need){ .runs = 1 }))) {
        offload_start(x, o);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(o->words); i++)
        free(o->words[i]);
}

static void ask_to_run(struct exchange *x, char *call)
{
    ask_to_run_by(x, &(struct offload){ .work = call_session }, call);
}

void sessions_get(struct exchange *x)
{
    ask(x, strdup("{\"op\":\"info\"}"));
}

void sessions_vars(struct exchange *x)
{
    ask_to_run(x, strdup("{\"op\":\"vars\"}"));
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
    ask_to_run(x, strdup("{\"op\":\"restart\"}"));
}

void sessions_checkpoint(struct exchange *x)
{
    ask_to_run(x, strdup("{\"op\":\"checkpoint\"}"));
}

void sessions_rollback(struct exchange *x)
{
    json_t *body = submission_body(x);
    json_int_t cell = json_integer_value(json_object_get(body, "cell"));
    static const struct submission_field known[] = { { "cell", true } };
    struct refusal fault = { 0 };

    if (!body)
        return;
    if (submission_check_fields(body, known, ARRAY_LEN(known), &fault) < 0) {
        holdings_refuse(x, &fault);
        json_decref(body);
        return;
    }
    json_decref(body);
    ask_to_run(x, text_format("{\"op\":\"rollback\",\"cell\":%lld}", (long long)cell));
}

/* A session that was made becomes the tenant's, with all that is reserved for it, or is ended.
 * Takes the answer over. */
static int own_session(struct offload *o, char *text, const json_t *facts, sbr_error *err)
{
    struct ownership owner;
    json_t *made = json_read_own(text, 0);
    int r;

    snprintf(owner.own, sizeof(owner.own), "%s", json_string_value(json_object_get(made, "id")));
    json_decref(made);
    r = ownership_add(&o->tenant, &owner, facts, err);
    if (r < 0) {
        sbr_error ignored;

        (void)!sbr_session_close(owner.own, &ignored);
        free(text);
        return r;
    }
    o->body = rename_answer(text, owner.id, o->words[WORD_ID]);
    free(o->words[WORD_ID]);
    o->words[WORD_ID] = strdup(owner.id);
    holdings_keep_session(o->server, &o->tenant, owner.own, take_ptr(o->held));
    return 0;
}

static int create_session(struct offload *o, sbr_error *err)
{
    json_t *facts = session_facts_write(&o->tenant, o->req);
    char *text = NULL;
    int r = sbr_session_create(o->req, o->extra, &text, err);

    if (r == 0)
        r = own_session(o, text, facts, err);
    json_decref(facts);
    return r;
}

static void session_made(struct offload *o, const sbr_error *err)
{
    free(o->extra);
    if (err || !o->x)
        return;
    o->location = text_format("/v1/sessions/%s", o->words[WORD_ID]);
}

static int fork_session(struct offload *o, sbr_error *err)
{
    sbr_session *s;
    char *text = NULL;
    json_t *facts;
    int r = sbr_session_open(o->words[WORD_OWN], &s, err);

    if (r < 0)
        return r;
    r = sbr_session_call(s, "{\"op\":\"fork\"}", &text, err);
    sbr_session_free(s);
    if (r < 0)
        return r;
    facts = ownership_facts_json(o->words[WORD_ID]);
    if (facts && o->tenant.token_id[0]) /* it ends with the token that asked for it */
        json_object_set_new(facts, "token", json_string(o->tenant.token_id));
    r = own_session(o, text, facts, err);
    json_decref(facts);
    return r;
}

/* Reserves what the session needs and lets a thread make it; takes over what `o` has. */
static void make_session(struct exchange *x, struct offload *o, const struct need *need,
                         const sbr_session_bounds *bounds)
{
    o->extra = malloc(sizeof(*bounds));
    if (o->extra)
        memcpy(o->extra, bounds, sizeof(*bounds));
    o->held = o->extra ? holdings_take(x, need) : NULL;
    if (o->held) {
        offload_start(x, o);
        return;
    }
    if (!o->extra)
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
    sbr_request_free(o->req);
    free(o->extra);
    free(o->words[WORD_OWN]);
    free(o->words[WORD_ID]);
}

void sessions_fork(struct exchange *x)
{
    struct offload o = { .work = fork_session, .done = session_made };
    const sbr_session_bounds bounds = { .struct_size = sizeof(bounds) }; /* the original's */
    struct need need = { .sessions = 1 };

    if (!name_session(x, &o))
        return;
    if (!may_use(x)) {
        free(o.words[WORD_OWN]);
        free(o.words[WORD_ID]);
        return;
    }
    need.memory = session_memory_of(o.words[WORD_OWN]);
    make_session(x, &o, &need, &bounds);
}

int sessions_take_bounds(json_t *body, sbr_session_bounds *ret, struct refusal *fault)
{
    const struct {
        struct submission_field field;
        uint64_t *value; /* 0: the default */
    } all[] = { { { "idle_ms", true }, &ret->idle_ms },
                { { "age_ms", true }, &ret->age_ms },
                { { "freeze_ms", true }, &ret->freeze_ms } };

    *ret = (sbr_session_bounds){ .struct_size = sizeof(*ret) };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        const json_t *value = json_object_get(body, all[i].field.name);

        if (value && submission_check_field(&all[i].field, value, fault) < 0)
            return -1;
        *all[i].value = (uint64_t)json_integer_value(value);
        (void)json_object_del(body, all[i].field.name);
    }
    return 0;
}

/* NULL: replied. */
static sbr_request *request_of(struct exchange *x, sbr_session_bounds *ret)
{
    struct refusal fault = { 0 };
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
    if (sessions_take_bounds(body, ret, &fault) < 0 ||
        submission_read(x->server, &x->tenant, body, &req, &fault) < 0)
        holdings_refuse(x, &fault);
    json_decref(body);
    return req;
}

void sessions_create(struct exchange *x)
{
    struct offload o = { .work = create_session, .done = session_made };
    struct refusal refusal = { 0 };
    sbr_session_bounds bounds;
    struct need need;

    o.req = request_of(x, &bounds);
    if (!o.req)
        return;
    if (admit_life(&x->tenant, &bounds.idle_ms, &bounds.age_ms, &refusal) < 0) {
        holdings_refuse(x, &refusal);
        sbr_request_free(o.req);
        return;
    }
    need = need_of_session(o.req);
    make_session(x, &o, &need, &bounds);
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
    if (!err || err->code == SBR_E_NOT_FOUND)
        holdings_end_session(o->server, o->words[WORD_OWN]);
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
    ask_to_run(x, strdup("{\"op\":\"files\"}"));
}

void sessions_put_file(struct exchange *x)
{
    ask_to_run(x, file_call("put", x->words[1], &x->body));
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
    else if (o->len > grant_most(&o->tenant, SBR_OUTPUT_BYTES))
        r = err_set(err, SBR_E_UNSUPPORTED, "session",
                    "the file is larger than the output that the token allows");
    o->exact = true;
    json_decref(answer);
    return r;
}

void sessions_get_file(struct exchange *x)
{
    ask_to_run_by(x, &(struct offload){ .work = get_file, .type = BYTES_TYPE },
                  file_call("get", x->words[1], NULL));
}

void sessions_delete_file(struct exchange *x)
{
    ask_to_run(x, file_call("remove", x->words[1], NULL));
}
