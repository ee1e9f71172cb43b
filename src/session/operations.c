/* What clients of a session can ask for: one row each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "session/cell_record.h"
#include "session/session_files.h"
#include "session/snapshot.h"
#include "session/supervisor.h"

/* The bytes of a line are bounded where it is read. */
static const struct json_bounds line_bounds = {
    .bytes = SIZE_MAX,
    .values = 100000,
    .depth = 64,
};

typedef void operation(struct session *s, struct connection *c, const json_t *line);

static void refuse(struct session *s, struct connection *c, int code, const char *message)
{
    sbr_error err;

    err_set(&err, code, "session", "%s", message);
    connection_error(s, c, &err);
}

/* False, and answered, when no kernel is there to be asked. */
static bool has_kernel(struct session *s, struct connection *c)
{
    sbr_error err;

    if (s->state == SESSION_READY || s->state == SESSION_BUSY)
        return true;
    err_set(&err, SBR_E_UNSUPPORTED, "session",
            s->state == SESSION_LOST ? "the session is lost: %.200s; `sandbox-run session restart "
                                       "%s` begins anew"
                                     : "the session is not ready yet%.0s; ask %s again",
            s->reason, s->dir.id);
    connection_error(s, c, &err);
    return false;
}

/* The language that a line names; false, and answered, when there is no such one. */
static bool read_language(struct session *s, struct connection *c, const json_t *line,
                          const struct language **ret)
{
    sbr_error err = { 0 };

    if (second_kernel_language(s, json_string_value(json_object_get(line, "lang")), ret, &err) == 0)
        return true;
    connection_error(s, c, &err);
    return false;
}

struct number_field {
    const char *name;
    json_int_t least, most;
};

/* A number that a line may have; false, and answered, when it is out of range. */
static bool read_number(struct session *s, struct connection *c, const json_t *line,
                        const struct number_field *field, uint64_t *ret)
{
    const json_t *given = json_object_get(line, field->name);
    json_int_t value = json_integer_value(given);
    sbr_error err;

    if (given && (value < field->least || value > field->most)) {
        err_set(&err, SBR_E_INVALID, "session", "\"%s\" is a number from %lld to %lld", field->name,
                (long long)field->least, (long long)field->most);
        connection_error(s, c, &err);
        return false;
    }
    if (given)
        *ret = (uint64_t)value;
    return true;
}

static void op_exec(struct session *s, struct connection *c, const json_t *line)
{
    const struct number_field timeout = { "timeout_ms", 1, limit_defs[SBR_WALL_MS].max };
    const struct number_field width = { "width", SBR_WIDTH_LEAST, SBR_WIDTH_MOST };
    const json_t *code = json_object_get(line, "code");
    struct cell_request request = { .timeout_ms = s->limits.value[SBR_WALL_MS],
                                    .stream = json_is_true(json_object_get(line, "stream")),
                                    .asks = json_is_true(json_object_get(line, "asks")),
                                    .lines.started_us = clock_now_us() };

    if (!has_kernel(s, c) || !read_language(s, c, line, &request.language) ||
        !read_number(s, c, line, &timeout, &request.timeout_ms) ||
        !read_number(s, c, line, &width, &request.width))
        return;
    if (!json_is_string(code) || json_string_length(code) > FRAME_PAYLOAD_MAX) {
        refuse(s, c, SBR_E_INVALID, "a cell is text of at most 16 MiB; give it as \"code\"");
        return;
    }
    request.len = json_string_length(code);
    request.code = malloc(request.len + 1);
    if (!request.code) {
        refuse(s, c, SBR_E_NO_MEMORY, "out of memory");
        return;
    }
    memcpy(request.code, json_string_value(code), request.len + 1);
    connection_wait(c, &request);
    supervisor_go_on(s);
}

static uint64_t memory_now(const struct session *s)
{
    sbr_metrics now = { .struct_size = sizeof(now) };

    return s->job && sbr_job_metrics(s->job, &now) == 0 ? now.memory_bytes : 0;
}

static double idle_s(const struct session *s)
{
    return s->state == SESSION_BUSY ? 0 : (double)(clock_now_us() - s->used_us) / 1e6;
}

static void op_info(struct session *s, struct connection *c, const json_t *line)
{
    json_t *answer =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:I, s:f, s:s?}", "id", s->dir.id, "lang",
                  s->language->name, "state", supervisor_state_name(s), "cells",
                  (json_int_t)s->cells, "created", (json_int_t)(s->created_at_us / 1000000),
                  "idle_s", idle_s(s), "memory_bytes", (json_int_t)memory_now(s), "startup_ms",
                  (double)s->startup_us / 1000, "reason",
                  s->state == SESSION_LOST ? s->reason : NULL);

    (void)line;
    if (s->kernels[0].hello)
        json_object_set(answer, "kernel", s->kernels[0].hello);
    json_object_set_new(answer, "kernels", second_kernel_names(s));
    json_object_set_new(answer, "ports", session_ports(s));
    json_object_set_new(answer, "background_bytes",
                        json_integer((json_int_t)s->background_bytes[0] +
                                     (json_int_t)s->background_bytes[1]));
    json_object_set_new(answer, "expires_in_s", json_real(idle_expires_s(s)));
    connection_answer(s, c, answer);
}

static void op_interrupt(struct session *s, struct connection *c, const json_t *line)
{
    bool runs = s->cell != NULL;

    if (json_is_true(json_object_get(line, "quiet"))) {
        if (!connection_interrupt(c))
            return;
        cell_stop_it(s, CELL_CANCELLED); /* the answer is the end of the cell */
        if (json_is_true(json_object_get(line, "end")))
            cell_end_soon(s);
        return;
    }
    if (!has_kernel(s, c))
        return;
    cell_stop_it(s, CELL_CANCELLED);
    connection_answer(s, c, json_pack("{s:b}", "interrupted", runs));
}

static void op_hold(struct session *s, struct connection *c, const json_t *line)
{
    (void)line;
    connection_hold(c);
    loop_set_timer(&s->loop, TIMER_HOLD, 0, NULL, NULL);
    connection_answer(s, c, json_pack("{s:b}", "held", 1));
}

/* What a client wants to be known of the session after its end. */
static void op_note(struct session *s, struct connection *c, const json_t *line)
{
    char *text = json_dumps(json_object_get(line, "made_by"), JSON_COMPACT);
    sbr_error err = { 0 };

    if (!text)
        refuse(s, c, SBR_E_INVALID, "\"made_by\" is an object");
    else if (session_dir_write(&s->dir, SESSION_WORDS, text, &err) < 0)
        connection_error(s, c, &err);
    else
        connection_answer(s, c, json_pack("{s:b}", "noted", 1));
    free(text);
}

static void op_close(struct session *s, struct connection *c, const json_t *line)
{
    json_t *answer = json_pack("{s:b, s:s}", "closed", 1, "id", s->dir.id);
    sbr_error err;

    (void)line;
    s->closing = s->over = true;
    supervisor_close(s, "the session was closed", answer);
    if (session_dir_remove(&s->dir, &err) == 0) {
        connection_answer(s, c, answer);
        return;
    }
    json_decref(answer);
    connection_error(s, c, &err);
}

static void op_restart(struct session *s, struct connection *c, const json_t *line)
{
    (void)line;
    if (s->state == SESSION_STARTING)
        refuse(s, c, SBR_E_BUSY, "the session starts already; ask again");
    else
        supervisor_restart(s, c, NULL);
}

static void answer_files(struct session *s, struct connection *c, json_t *answer,
                         const sbr_error *err)
{
    if (answer)
        connection_answer(s, c, answer);
    else
        connection_error(s, c, err);
}

static void op_metrics(struct session *s, struct connection *c, const json_t *line)
{
    (void)line;
    if (has_kernel(s, c))
        connection_answer(s, c, session_figures_used(s));
}

static void op_limits(struct session *s, struct connection *c, const json_t *line)
{
    (void)line;
    connection_answer(s, c, session_figures_limits(s));
}

static void op_files(struct session *s, struct connection *c, const json_t *line)
{
    sbr_error err = { 0 };

    (void)line;
    if (has_kernel(s, c))
        answer_files(s, c, session_files_list(s, &err), &err);
}

static const char *text_of(const json_t *line, const char *field)
{
    const char *text = json_string_value(json_object_get(line, field));

    return text ? text : "";
}

static void op_get(struct session *s, struct connection *c, const json_t *line)
{
    sbr_error err = { 0 };

    if (has_kernel(s, c))
        answer_files(s, c, session_files_get(s, text_of(line, "path"), &err), &err);
}

static void op_put(struct session *s, struct connection *c, const json_t *line)
{
    const char *path = text_of(line, "path"), *data = text_of(line, "data_b64");
    sbr_error err = { 0 };

    if (has_kernel(s, c))
        answer_files(s, c, session_files_put(s, path, data, &err), &err);
}

static void op_remove(struct session *s, struct connection *c, const json_t *line)
{
    sbr_error err = { 0 };

    if (has_kernel(s, c))
        answer_files(s, c, session_files_remove(s, text_of(line, "path"), &err), &err);
}

static void op_diff(struct session *s, struct connection *c, const json_t *line)
{
    bool keep = json_is_true(json_object_get(line, "keep"));
    sbr_error err = { 0 };

    if (has_kernel(s, c))
        answer_files(s, c, session_changes_look(s, keep, &err), &err);
}

static void op_applied(struct session *s, struct connection *c, const json_t *line)
{
    const json_t *paths = json_object_get(line, "paths");
    sbr_error err = { 0 };

    if (has_kernel(s, c))
        answer_files(s, c, session_changes_applied(s, text_of(line, "changes_id"), paths, &err),
                     &err);
}

/* True, and answered, while the kernel executes cells.  A question of another client takes a
 * moment: the line waits for its end. */
static bool is_busy(struct session *s, struct connection *c, const json_t *line)
{
    if (s->state == SESSION_BUSY || s->replay.cells)
        refuse(s, c, SBR_E_BUSY, "a cell runs; ask again when it has ended");
    else if (s->asks && !connection_defer(c, line))
        refuse(s, c, SBR_E_BUSY, "the kernel is asked something already; ask again");
    return s->state == SESSION_BUSY || s->replay.cells || s->asks;
}

/* False, and answered now or later, when the kernel (NULL: it does not run) cannot be asked for
 * this. */
static bool may_ask(struct session *s, struct connection *c, const struct kernel *k,
                    const json_t *line)
{
    const char *what = json_string_value(json_object_get(line, "op"));

    if (!has_kernel(s, c))
        return false;
    if (!k || !k->hello)
        refuse(s, c, SBR_E_BUSY, "no kernel of that language runs; a cell starts it");
    else if (!kernel_can(k, !strcmp(what, "rollback") ? "checkpoint" : what))
        refuse(s, c, SBR_E_UNSUPPORTED, "the kernel of this language cannot do that");
    else
        return !is_busy(s, c, line);
    return false;
}

/* What the kernel knows by the same word, and can answer only between cells. */
static void op_question(struct session *s, struct connection *c, const json_t *line)
{
    const char *word = json_string_value(json_object_get(line, "op"));
    const json_t *code = json_object_get(line, "code"), *cursor = json_object_get(line, "cursor");
    char arg[FRAME_ARG_SIZE] = "-";
    const struct language *language;
    struct kernel *k;

    if (!read_language(s, c, line, &language))
        return;
    k = second_kernel_find(s, language);
    if (!may_ask(s, c, k, line))
        return;
    if (json_is_string(code) && json_string_length(code) > FRAME_PAYLOAD_MAX) {
        refuse(s, c, SBR_E_INVALID, "the code has more than 16 MiB");
        return;
    }
    if (json_is_integer(cursor) && json_integer_value(cursor) >= 0)
        snprintf(arg, sizeof(arg), "%lld", (long long)json_integer_value(cursor));
    question_begin(s, c, k, s->asked + 1);
    kernel_send(k, word, s->asked, arg, json_is_string(code) ? json_string_value(code) : "",
                json_is_string(code) ? json_string_length(code) : 0);
}

/* Saved states of the kernel are named by the cell that follows them. */
static void ask_for_state(struct session *s, struct connection *c, const json_t *line,
                          uint64_t number)
{
    const char *word = json_string_value(json_object_get(line, "op"));
    struct kernel *k = &s->kernels[0];

    if (!may_ask(s, c, k, line))
        return;
    question_begin(s, c, k, number);
    s->asks_state = true;
    s->asks_back = !strcmp(word, "rollback");
    kernel_send(k, word, number, "-", "", 0);
}

static void op_checkpoint(struct session *s, struct connection *c, const json_t *line)
{
    ask_for_state(s, c, line, s->cells + 1);
}

/* Without a saved state the cells before it are executed again, in a new kernel. */
static void roll_back_by_replay(struct session *s, struct connection *c, uint64_t cell)
{
    sbr_error err = { 0 };
    json_t *cells = replay_cells(s, cell, &err);

    if (!cells) {
        connection_error(s, c, &err);
        return;
    }
    s->back_to = cell;
    cell_record_back(&s->dir, cell);
    supervisor_restart(s, c, cells);
}

static void op_fork(struct session *s, struct connection *c, const json_t *line)
{
    if (has_kernel(s, c) && !is_busy(s, c, line))
        s->hooks->copy(s, c);
}

static void op_rollback(struct session *s, struct connection *c, const json_t *line)
{
    json_int_t cell = json_integer_value(json_object_get(line, "cell"));

    if (cell <= 0 || (uint64_t)cell > s->cells + 1)
        refuse(s, c, SBR_E_INVALID,
               "\"cell\" is the number of the cell before which you want to be");
    else if (snapshot_find(s, (uint64_t)cell))
        ask_for_state(s, c, line, (uint64_t)cell);
    else if (has_kernel(s, c) && !is_busy(s, c, line))
        roll_back_by_replay(s, c, (uint64_t)cell);
}

/* A kernel of another language beside the session's own; answers once it is ready. */
static void op_kernel(struct session *s, struct connection *c, const json_t *line)
{
    const struct language *language;
    struct kernel *k;
    sbr_error err = { 0 };

    if (!has_kernel(s, c) || !read_language(s, c, line, &language))
        return;
    kernel_freeze(s, false);
    if (second_kernel_get(s, language, &k, &err) < 0)
        connection_error(s, c, &err);
    else if (k->hello)
        connection_answer(s, c, second_kernel_describe(k));
    else if (k->starter)
        refuse(s, c, SBR_E_BUSY, "the kernel of that language starts already; ask again");
    else
        k->starter = c;
}

static void op_allow(struct session *s, struct connection *c, const json_t *line)
{
    if (has_kernel(s, c))
        session_grant_host(s, c, json_is_true(json_object_get(line, "move")),
                           text_of(line, "host"));
}

static void op_dep(struct session *s, struct connection *c, const json_t *line)
{
    if (has_kernel(s, c))
        session_grant_package(s, c, text_of(line, "name"));
}

static void op_adopt(struct session *s, struct connection *c, const json_t *line)
{
    sbr_error err = { 0 };
    json_t *answer = json_object_get(line, "copy") ? spare_copy_adopt(s, c, line, &err)
                                                   : spare_adopt(s, line, &err);

    answer_files(s, c, answer, &err);
    if (answer && s->state == SESSION_READY) /* a copy does so once it has its memory */
        s->hooks->leave_spare(s);
}

/* clang-format off */
static const struct {
    const char *name;
    operation *run;
} operations[] = {
    { "exec", op_exec }, { "kernel", op_kernel }, { "allow", op_allow }, { "dep", op_dep },
    { "info", op_info },
    { "interrupt", op_interrupt }, { "input", cell_input_given },
    { "close", op_close }, { "check", op_question }, { "complete", op_question },
    { "vars", op_question }, { "restart", op_restart }, { "metrics", op_metrics },
    { "limits", op_limits },
    { "checkpoint", op_checkpoint }, { "rollback", op_rollback }, { "reload", op_question },
    { "hold", op_hold }, { "note", op_note }, { "fork", op_fork }, { "diff", op_diff },
    { "applied", op_applied }, { "files", op_files }, { "get", op_get }, { "put", op_put },
    { "remove", op_remove }, { "adopt", op_adopt },
};
/* clang-format on */

static operation *find(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(operations); i++)
        if (!strcmp(operations[i].name, name))
            return operations[i].run;
    return NULL;
}

void operation_handle(struct session *s, struct connection *c, const char *line, size_t len)
{
    sbr_error err;
    json_t *request = json_read(line, len, &line_bounds, 0, "the line", &err);
    const json_t *op = request ? json_object_get(request, "op") : NULL;
    operation *run = find(json_string_value(op));

    if (!request)
        refuse(s, c, SBR_E_INVALID, err.message);
    else if (!run || (s->spare.waits && run != op_adopt))
        refuse(s, c, SBR_E_INVALID, "there is no such \"op\"; see docs/sessions.md");
    else
        run(s, c, request);
    json_decref(request);
}
