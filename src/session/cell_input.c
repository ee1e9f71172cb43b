/* What a cell reads from stdin, when its client can ask a person: the kernel asks, the client
 * answers, and the time of the cell stands still meanwhile.  For any other client the kernel has
 * the end of the input at once. */
#include <string.h>

#include "base/json_read.h"
#include "session/supervisor.h"

static void answer(struct session *s, const char *how, const char *text, size_t len)
{
    kernel_send(s->cell->kernel, "input", s->cell->number, how, text, len);
}

static char *event_of(const struct frame *frame)
{
    sbr_error ignored; /* a question without words */
    json_t *payload = json_read(frame->payload, frame->len, &json_read_line, JSON_ALLOW_NUL,
                                "the question", &ignored);
    const char *prompt = json_string_value(json_object_get(payload, "prompt"));
    json_t *event = json_pack("{s:s, s:s, s:b}", "type", "input", "prompt", prompt ? prompt : "",
                              "hidden", json_is_true(json_object_get(payload, "hidden")));
    char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

    json_decref(payload);
    json_decref(event);
    return text;
}

void cell_input_asked(struct kernel *k, const struct frame *frame)
{
    struct session *s = k->session;
    struct cell *cell = s->cell;
    scoped_free char *event = NULL;

    if (!cell || cell->kernel != k || frame->number != cell->number || cell->asks)
        return; /* one question at a time */
    if (cell->client && cell->request.asks && cell->stop == CELL_ON)
        event = event_of(frame);
    if (!event) {
        answer(s, "none", "", 0);
        return;
    }
    runner_drain(s->job); /* what it printed before it asked */
    if (s->cell != cell || cell->stop != CELL_ON)
        return; /* that was too much */
    cell->asks = true;
    cell_hold_time(s, true);
    connection_send(s, cell->client, event, strlen(event));
    connection_send(s, cell->client, "\n", 1);
}

void cell_input_given(struct session *s, struct connection *c, const json_t *line)
{
    const json_t *text = json_object_get(line, "text");

    if (!s->cell || s->cell->client != c || !s->cell->asks)
        return; /* the cell has ended meanwhile */
    s->cell->asks = false;
    cell_hold_time(s, false);
    if (json_is_string(text) && json_string_length(text) <= FRAME_PAYLOAD_MAX)
        answer(s, "ok", json_string_value(text), json_string_length(text));
    else
        answer(s, "end", "", 0);
}

void cell_input_left(struct session *s)
{
    if (!s->cell->asks)
        return;
    s->cell->asks = false;
    cell_hold_time(s, false);
    answer(s, "none", "", 0);
}
