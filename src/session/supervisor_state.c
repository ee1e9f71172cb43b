/* Saved states of a session: checkpoint, rollback, and the replay of cells where there is none. */
#include <stdio.h>
#include <string.h>

#include "session/cell_record.h"
#include "session/snapshot.h"
#include "session/supervisor.h"

#define MISSED_MAX 8

/* What the state has not got, by the kernel's own word. */
static json_t *not_covered(const json_t *payload)
{
    const json_t *said = json_object_get(payload, "not_covered"), *word;
    json_t *missed;
    size_t i;

    if (!json_is_array(said)) /* a forked copy of the kernel's process */
        return json_pack("[s, s, s]", "threads", "sockets", "children");
    missed = json_array();
    json_array_foreach(said, i, word)
        if (i < MISSED_MAX && json_is_string(word))
            json_array_append_new(missed, json_sprintf("%.60s", json_string_value(word)));
    return missed;
}

static void miss(json_t *answer, const char *what)
{
    json_array_append_new(json_object_get(answer, "not_covered"), json_string(what));
}

static json_t *describe(const struct session *s, uint64_t cell, const json_t *payload)
{
    const char *by = json_string_value(json_object_get(payload, "by"));
    json_t *others = second_kernel_names(s);
    json_t *answer =
        json_pack("{s:I, s:s, s:o}", "cell", (json_int_t)cell, "by",
                  by && !strcmp(by, "copy") ? "copy" : "fork", "not_covered", not_covered(payload));

    if (json_array_size(others))
        miss(answer, "kernels of other languages");
    json_decref(others);
    return answer;
}

static json_t *saved(struct session *s, uint64_t cell, const json_t *payload)
{
    sbr_error ignored; /* the answer says that files are not covered */
    struct snapshot *snapshot = snapshot_take(s, cell, &ignored);
    json_t *answer = describe(s, cell, payload);

    if (!snapshot) {
        snapshot_drop_from(s, cell);
        miss(answer, "files");
        return answer;
    }
    if (!snapshot->whole || snapshot->left_out)
        miss(answer, "files beyond 64 MiB or 20000 entries");
    json_object_set_new(answer, "files",
                        json_pack("{s:I, s:I, s:I}", "saved", (json_int_t)snapshot->n, "bytes",
                                  (json_int_t)snapshot->bytes, "left_out",
                                  (json_int_t)snapshot->left_out));
    snapshot_keep(s, snapshot);
    return answer;
}

static json_t *went_back(struct session *s, uint64_t cell, const json_t *payload)
{
    const struct snapshot *snapshot = snapshot_find(s, cell);
    json_t *answer = describe(s, cell, payload), *how = json_object();
    sbr_error err = { 0 };

    if (!snapshot || snapshot_restore(s, snapshot, how, &err) < 0)
        miss(answer, "files");
    json_object_set_new(answer, "files", how);
    snapshot_drop_from(s, cell + 1);
    s->skips = true;
    cell_record_back(&s->dir, cell);
    return answer;
}

void supervisor_answer_state(struct session *s, struct connection *c, const struct frame *frame,
                             const json_t *payload)
{
    const char *message = json_string_value(json_object_get(payload, "message"));
    sbr_error err;

    if (!strcmp(frame->arg, "ok")) {
        connection_answer(s, c,
                          s->asks_back ? went_back(s, frame->number, payload)
                                       : saved(s, frame->number, payload));
        return;
    }
    err_set(&err, SBR_E_UNSUPPORTED, "session", "%.200s",
            message ? message : "the kernel refused it");
    connection_error(s, c, &err);
}

static void all_replayed(struct session *s)
{
    struct connection *c = take_ptr(s->starting);
    json_t *report = replay_report(s);

    s->skips = true;
    if (s->ready_fd >= 0) {
        json_decref(s->copied);
        s->copied = json_incref(report);
    }
    if (c) {
        json_object_set_new(report, "cell", json_integer((json_int_t)s->back_to));
        json_object_set_new(report, "not_covered",
                            json_pack("[s, s]", "what came from outside", "children"));
        connection_answer(s, c, json_incref(report));
    }
    json_decref(report);
}

bool supervisor_replays(struct session *s)
{
    struct cell_request request;

    if (replay_next(s, &request)) {
        cell_begin(s, NULL, &request);
        return true;
    }
    all_replayed(s);
    return false;
}

void supervisor_replay_failed(struct session *s)
{
    struct connection *c = take_ptr(s->starting);
    sbr_error err;

    json_decref(replay_report(s));
    err_set(&err, SBR_E_UNSUPPORTED, "session",
            "the session was lost while its cells were executed again: %.200s", s->reason);
    if (c)
        connection_error(s, c, &err);
}
