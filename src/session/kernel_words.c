/* What a kernel says: a word, a number, and JSON that a hostile cell may have written.  What nobody
 * waits for is not looked at; what clients get stays text; what becomes a tree is small. */
#include <string.h>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/text.h"
#include "session/supervisor.h"

static const struct json_bounds hello_bounds = { .bytes = 16384, .values = 256, .depth = 8 };
static const struct json_bounds answer_bounds = {
    .bytes = FRAME_PAYLOAD_MAX,
    .values = 64000,
    .depth = 48,
};

/* Answers the client that asked for a kernel of another language. */
static void second_is_ready(struct kernel *k)
{
    struct connection *starter = take_ptr(k->starter);

    if (starter)
        connection_answer(k->session, starter, second_kernel_describe(k));
}

static void is_ready(struct kernel *k, const struct frame *frame)
{
    struct session *s = k->session;
    sbr_error ignored; /* it can do nothing then but execute cells */
    json_t *hello;

    if (k->index ? k->hello != NULL : s->state != SESSION_STARTING)
        return;
    if (!k->index && s->image_fds[0] >= 0) {
        memory_copy_load(s);
        return;
    }
    hello = json_read(frame->payload, frame->len, &hello_bounds, 0, "the kernel's first word",
                      &ignored);
    json_decref(k->hello);
    k->hello = hello ? hello : json_object();
    if (k->index) {
        second_is_ready(k);
        if (s->state == SESSION_READY)
            idle_begin(s); /* the start has woken what was frozen */
        return;
    }
    s->startup_us = clock_now_us() - s->started_us;
    if (s->becomes)
        memory_copy_done(s);
    s->state = SESSION_READY;
    idle_note_cpu(s);
    loop_set_timer(&s->loop, TIMER_START, 0, NULL, NULL);
    if (!s->spare.waits)
        supervisor_note(s);
    if (!s->replay.cells)
        supervisor_answer_restart(s, NULL);
    supervisor_go_on(s);
}

/* Lines and cells that waited for it. */
static void go_on_after_answer(struct session *s)
{
    connection_resume_lines(s);
    if (s->state == SESSION_READY && connection_waiting(s, NULL))
        supervisor_go_on(s);
    else if (s->state == SESSION_READY && !s->spare.waits)
        idle_begin(s); /* the question has woken what was frozen */
}

/* The client has asked for it, and gets it as text. */
static bool pass_on(struct session *s, struct connection *asking, const struct frame *frame)
{
    size_t values;
    struct buf data;
    bool fits;

    buf_init(&data, FRAME_PAYLOAD_MAX);
    fits =
        json_text_add(&data, frame->payload, frame->len, &answer_bounds, &values) == JSON_TEXT_FITS;
    if (fits)
        connection_answer_text(s, asking, frame->arg, data.data, data.len);
    buf_done(&data);
    return fits;
}

static void refuse_answer(struct session *s, struct connection *asking)
{
    sbr_error err;

    err_set(&err, SBR_E_UNSUPPORTED, "session",
            "the kernel's answer is no JSON, or has more than %zu values; ask for less",
            answer_bounds.values);
    connection_error(s, asking, &err);
}

/* An answer about the kernel's own state is short. */
static bool take_state(struct session *s, struct connection *asking, const struct frame *frame)
{
    sbr_error ignored; /* refuse_answer says it */
    json_t *payload = json_read(frame->payload, frame->len, &json_read_line,
                                JSON_DECODE_ANY | JSON_ALLOW_NUL, "the answer", &ignored);

    if (payload && s->asks_state) /* the kernel is in another state, even if the client has left */
        supervisor_answer_state(s, asking, frame, payload);
    else if (payload) /* the copy answers the client by itself */
        memory_copy_answered(s, frame, payload);
    json_decref(payload);
    return payload || s->asks_copy;
}

static void answered(struct kernel *k, const struct frame *frame)
{
    struct session *s = k->session;
    struct connection *asking;
    bool taken;

    if (!s->asks || s->answers != k || frame->number != s->asked)
        return; /* nobody has asked: not even looked at */
    asking = question_end(s);
    taken = s->asks_state || s->asks_copy ? take_state(s, asking, frame)
                                          : !asking || pass_on(s, asking, frame);
    if (!taken)
        refuse_answer(s, asking);
    go_on_after_answer(s);
}

/* Init says it in place of a kernel that it could not start. */
static void failed(struct kernel *k, const struct frame *frame)
{
    char reason[240];

    text_copy_visibly(reason, sizeof(reason), frame->payload, frame->len);
    k->session->hooks->end_kernel(k, reason);
}

/* clang-format off */
static const struct {
    const char *word;
    void (*handle)(struct kernel *k, const struct frame *frame);
} words[] = {
    { "ready", is_ready }, { "display", cell_display }, { "done", cell_done },
    { "answer", answered }, { "failed", failed }, { "ask", cell_input_asked },
};
/* clang-format on */

bool kernel_words_handle(struct kernel *k, const struct frame *frame)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!strcmp(frame->word, words[i].word)) {
            words[i].handle(k, frame);
            return true;
        }
    }
    return false;
}
