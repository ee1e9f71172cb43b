/* POST /v1/sessions/ID/cells: one cell in a thread; its events, if they are wanted, in the log of
 * an execution that has no job of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "http/execution.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"
#include "session/session_program.h"

#define POSTED_MOST ((size_t)512 << 10) /* bytes of lines that the loop has not taken yet */

struct asked_cell {
    sbr_session *session;
    struct execution *execution; /* NULL: nobody wants its events */
    uint64_t timeout_ms;
    pthread_mutex_t mutex; /* of the last two */
    pthread_cond_t cond;
    size_t posted;
    bool held; /* its readers are behind */
};

enum { WORD_CODE, WORD_LANGUAGE };

/* In the thread.  A reader that is slow lets it wait, so that nobody reads from the session, which
 * then holds the program up. */
static void line_came(void *context, const char *line, size_t len)
{
    struct offload *o = context;
    struct asked_cell *cell = o->extra;

    (void)pthread_mutex_lock(&cell->mutex);
    while (cell->held || cell->posted > POSTED_MOST)
        (void)pthread_cond_wait(&cell->cond, &cell->mutex);
    cell->posted += len;
    (void)pthread_mutex_unlock(&cell->mutex);
    offload_post(o, line, len);
}

static void hold_cell(struct execution *e, bool held, void *context)
{
    struct asked_cell *cell = context;

    (void)e;
    (void)pthread_mutex_lock(&cell->mutex);
    cell->held = held;
    (void)pthread_cond_signal(&cell->cond);
    (void)pthread_mutex_unlock(&cell->mutex);
}

static int execute(struct offload *o, sbr_error *err)
{
    struct asked_cell *cell = o->extra;

    return sbr_session_exec_in(cell->session, o->words[WORD_LANGUAGE], o->words[WORD_CODE],
                               o->word_len, cell->timeout_ms, cell->execution ? line_came : NULL, o,
                               &o->body, err);
}

static void note_line(struct offload *o, const char *line, size_t len)
{
    struct asked_cell *cell = o->extra;

    if (cell->execution)
        execution_note(cell->execution, line, len);
    (void)pthread_mutex_lock(&cell->mutex);
    cell->posted -= len;
    (void)pthread_cond_signal(&cell->cond);
    (void)pthread_mutex_unlock(&cell->mutex);
}

static void free_cell(struct asked_cell *cell)
{
    sbr_session_free(cell->session);
    (void)pthread_cond_destroy(&cell->cond);
    (void)pthread_mutex_destroy(&cell->mutex);
    free(cell);
}

static void cell_over(struct offload *o, const sbr_error *err)
{
    struct asked_cell *cell = o->extra;

    if (cell->execution) {
        cell->execution->hold = NULL;
        execution_end(cell->execution, o->body, err);
    }
    free_cell(cell);
}

/* As a run without its client: the cell is interrupted, and its variables are kept. */
static void client_left(struct offload *o)
{
    const struct asked_cell *cell = o->extra;

    (void)sbr_session_interrupt(cell->session);
}

/* False: replied. */
static bool has_fields(struct exchange *x, const json_t *body)
{
    static const struct submission_field known[] = {
        { "code", false }, { "language", false }, { "timeout_ms", true }, { "width", true }
    };
    struct refusal fault = { 0 };

    if (submission_check_fields(body, known, ARRAY_LEN(known), &fault) == 0)
        return true;
    holdings_refuse(x, &fault);
    return false;
}

/* False: replied. */
static bool has_width(struct exchange *x, const json_t *body)
{
    const json_t *width = json_object_get(body, "width");
    json_int_t value = json_integer_value(width);

    if (!width || (value >= SBR_WIDTH_LEAST && value <= SBR_WIDTH_MOST))
        return true;
    problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                        .detail = "`width` is a number of columns from 20 to 1000",
                                        .field = "width" });
    return false;
}

/* NULL: replied. */
static struct asked_cell *open_cell(struct exchange *x, json_t *body)
{
    struct asked_cell *cell = calloc(1, sizeof(*cell));
    const char *language = json_string_value(json_object_get(body, "language"));
    struct refusal refusal = { 0 };
    struct ownership owner;

    if (!cell)
        err_set_oom(&refusal.err, "http");
    if (cell) {
        (void)pthread_mutex_init(&cell->mutex, NULL);
        (void)pthread_cond_init(&cell->cond, NULL);
        cell->timeout_ms = (uint64_t)json_integer_value(json_object_get(body, "timeout_ms"));
    }
    if (cell && ownership_find(&x->tenant, x->words[0], &owner, &refusal.err) == 0 &&
        sessions_admit(x, language, &cell->timeout_ms, &refusal) == 0 &&
        sbr_session_open(owner.own, &cell->session, &refusal.err) == 0) {
        sbr_session_set_width(cell->session,
                              (unsigned int)json_integer_value(json_object_get(body, "width")));
        return cell;
    }
    free(cell);
    holdings_refuse(x, &refusal);
    return NULL;
}

/* Its token was revoked. */
static void end_cell(void *context)
{
    const struct asked_cell *cell = context;

    (void)!session_client_end_cell(cell->session);
}

/* A cell is a run among those of its tenant, whoever reads its events; false: replied. */
static bool take_place(struct exchange *x, struct asked_cell *cell, struct offload *o)
{
    const struct need need = { .runs = 1 };
    struct refusal refusal = { 0 };

    if (ledger_take(&x->server->holdings.ledger, &x->tenant, &need, end_cell, cell, &o->held,
                    &refusal) == 0)
        return true;
    holdings_refuse(x, &refusal);
    return false;
}

static void stream(struct exchange *x, struct asked_cell *cell, const struct offload *o)
{
    struct refusal ignored;
    struct execution *e;

    e = cell->execution = execution_open(x->server, &x->tenant, NULL, &ignored);
    if (!e) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        free_cell(cell);
        ledger_give_back(o->held);
        free(o->words[WORD_CODE]);
        free(o->words[WORD_LANGUAGE]);
        return;
    }
    e->hold = hold_cell;
    e->hold_context = cell;
    execution_has_begun(e);
    if (offload_start_alone(x, o) < 0)
        return; /* cell_over has freed the cell and ended the execution */
    reader_open(e, x, exchange_accepts(x), 0);
    execution_set_location(e, x);
}

void cells_create(struct exchange *x)
{
    json_t *body = submission_body(x);
    const json_t *code = json_object_get(body, "code");
    const char *language = json_string_value(json_object_get(body, "language"));
    struct offload o = {
        .work = execute, .done = cell_over, .left = client_left, .line = note_line
    };
    struct asked_cell *cell;

    if (body && !json_is_string(code))
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .detail = "a cell needs `code`, a string",
                                            .field = "code" });
    cell = json_is_string(code) && has_fields(x, body) && has_width(x, body) ? open_cell(x, body)
                                                                             : NULL;
    if (cell && !take_place(x, cell, &o)) {
        free_cell(cell);
    } else if (cell) {
        o.extra = cell;
        o.word_len = json_string_length(code);
        o.words[WORD_CODE] = malloc(o.word_len + 1);
        if (o.words[WORD_CODE])
            memcpy(o.words[WORD_CODE], json_string_value(code), o.word_len + 1);
        o.words[WORD_LANGUAGE] = language ? strdup(language) : NULL;
        if (strcmp(exchange_accepts(x), JSON_TYPE) == 0)
            offload_start(x, &o);
        else
            stream(x, cell, &o);
    }
    json_decref(body);
}
