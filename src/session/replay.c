/* Recorded cells, executed again: where a kernel cannot save its state, and for a copy of a
 * session.  No client gets their output; how many came out differently is counted. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "session/cell_record.h"
#include "session/snapshot.h"
#include "session/supervisor.h"

/* Takes `all`. */
static json_t *choose(const struct session *s, json_t *all, uint64_t before, sbr_error *err)
{
    json_t *cells = json_array(), *cell;
    uint64_t expected = s->cells < before ? s->cells : before - 1, last = 0;
    size_t i;

    json_array_foreach(all, i, cell) {
        uint64_t number = (uint64_t)json_integer_value(json_object_get(cell, "cell"));

        if (number < s->first_cell || number >= before)
            continue;
        json_array_append(cells, cell);
        last = number;
    }
    json_decref(all);
    if (last < expected && expected >= s->first_cell && !s->skips) {
        json_decref(cells);
        err_set(err, SBR_E_UNSUPPORTED, "session",
                "the record of the cells is not complete: it has grown too long");
        return NULL;
    }
    return cells;
}

json_t *replay_cells(const struct session *s, uint64_t before, sbr_error *err)
{
    return choose(s, cell_record_read(&s->dir), before, err);
}

int replay_history(struct session *s, sbr_error *err)
{
    scoped_free char *history = take_ptr(s->replay.history);
    json_t *cells = choose(s, cell_record_parse(history), s->cells + 1, err);

    if (!cells)
        return err->code;
    s->replay.cells = cells;
    s->cells = s->first_cell = 0;
    s->skips = true;
    return 0;
}

void replay_set(struct session *s, json_t *take_cells, bool record)
{
    json_decref(s->replay.cells);
    s->replay = (struct replay){ .cells = take_cells, .record = record };
}

/* What the copied session had in its directories when it was copied. */
static void put_files(struct session *s, json_t *answer)
{
    struct snapshot *files = take_ptr(s->replay.files);
    json_t *how = json_object();
    sbr_error err = { 0 };

    if (files && snapshot_restore(s, files, how, &err) < 0)
        json_object_set_new(how, "error", json_string(err.message));
    if (files)
        json_object_set(answer, "files", how);
    json_decref(how);
    snapshot_free(files);
}

json_t *replay_report(struct session *s)
{
    json_t *answer = json_pack("{s:s, s:I, s:I}", "by", "replay", "replayed",
                               (json_int_t)json_array_size(s->replay.cells), "different",
                               (json_int_t)s->replay.different);

    if (s->replay.because[0])
        json_object_set_new(answer, "because", json_string(s->replay.because));
    put_files(s, answer);
    json_decref(take_ptr(s->replay.cells));
    return answer;
}

bool replay_next(struct session *s, struct cell_request *ret)
{
    const json_t *cell = json_array_get(s->replay.cells, s->replay.at);
    const json_t *code = json_object_get(cell, "code");
    const struct language *language = NULL;
    sbr_error ignored;

    if (!code)
        return false;
    /* A language that is not known any more: the session's own refuses its code. */
    (void)!second_kernel_language(s, json_string_value(json_object_get(cell, "lang")), &language,
                                  &ignored);
    *ret = (struct cell_request){ .language = language,
                                  .timeout_ms = s->limits.value[SBR_WALL_MS],
                                  .number =
                                      (uint64_t)json_integer_value(json_object_get(cell, "cell")),
                                  .unrecorded = !s->replay.record,
                                  .len = json_string_length(code) };
    ret->code = malloc(ret->len + 1);
    if (!ret->code)
        return false;
    memcpy(ret->code, json_string_value(code), ret->len + 1);
    s->replay.at++;
    return true;
}

void replay_compare(struct session *s, const char *result)
{
    const json_t *cell = json_array_get(s->replay.cells, s->replay.at - 1);
    json_t *found = json_read_own(result, JSON_ALLOW_NUL);
    json_t *difference = cell_record_compare(json_object_get(cell, "result"), found);

    s->replay.different += difference != NULL;
    json_decref(difference);
    json_decref(found);
}
