/* What a kernel says to the supervisor of a session, from its bytes to what is kept of it. */
#include "fuzz.h"
#include "session/supervisor.h"

#define NUMBER 7 /* of the cell, and of the question */

static bool ended;

static void end_kernel(struct kernel *k, const char *reason)
{
    FUZZ_ASSERT(k && reason);
    ended = true;
}

static const struct session_hooks hooks = { .end_kernel = end_kernel };

/* What the client will get is JSON, within the bounds of its readers. */
static void check_display(const struct cell *cell)
{
    json_t *display;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    buf_add_text(&out, "{");
    cell_display_write(cell, &out);
    buf_add_text(&out, "}");
    display = json_loadb(out.data, out.len, JSON_ALLOW_NUL, NULL);
    FUZZ_ASSERT(display && json_is_array(json_object_get(display, "display")));
    FUZZ_ASSERT(cell->display_values <= 64000 && !memchr(out.data, '\n', out.len));
    json_decref(display);
    buf_done(&out);
}

static void handle(struct session *s, struct kernel *k, const struct frame *frame)
{
    struct cell *cell = s->cell;

    if (!strcmp(frame->word, "done"))
        s->cell = NULL; /* its end needs a run */
    if (!kernel_words_handle(k, frame))
        ended = true;
    s->cell = cell;
    s->asks = true;
    s->asked = NUMBER;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session s;
    static struct cell cell;
    struct kernel *k;
    size_t used = 0;
    sbr_error err;

    memset(&s, 0, sizeof(s));
    memset(&cell, 0, sizeof(cell));
    for (size_t i = 0; i < N_LIMITS; i++)
        s.limits.value[i] = s.request.limits.value[i] = LIMIT_NONE;
    FUZZ_ASSERT(loop_init_timers(&s.loop, "fuzz", &err) == 0);
    s.hooks = &hooks;
    s.state = SESSION_BUSY;
    link_init(&s.connections);
    link_init(&s.copies);
    kernel_init_all(&s);
    k = &s.kernels[size ? data[0] % 2 : 0];
    cell.kernel = k;
    cell.number = NUMBER;
    cell_display_begin(&cell);
    s.cell = &cell;
    s.asks = s.asks_copy = true;
    s.answers = k;
    s.asked = NUMBER;
    ended = false;
    for (size_t at = size ? 1 : 0; at < size && !ended; at += used) {
        struct frame frame;

        if (frame_read((const char *)data + at, size - at, &frame, &used) != FRAME_WHOLE)
            break;
        handle(&s, k, &frame);
        check_display(&cell);
    }
    for (size_t i = 0; i < KERNELS_MAX; i++)
        json_decref(s.kernels[i].hello);
    buf_done(&cell.display);
    loop_done(&s.loop);
    return 0;
}
