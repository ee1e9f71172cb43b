/* A question to a kernel, and what becomes of one that is not answered. */
#include <signal.h>

#include "base/clock.h"
#include "session/supervisor.h"

#define ANSWER_US 30000000 /* for a kernel to answer */

/* A question runs code of the cells, such as a repr(), which may have no end. */
static void no_answer(void *context, uint32_t events)
{
    struct session *s = context;
    struct kernel *k = s->answers;

    (void)events;
    if (s->ask_pressed) {
        s->hooks->end_kernel(k, "the kernel did not answer a question, so it was killed");
        return;
    }
    s->ask_pressed = true;
    runner_signal_kernel(s->job, k->index, SIGINT);
    loop_set_timer(&s->loop, TIMER_ASK, clock_now_us() + s->limits.value[SBR_GRACE_MS] * 1000 + 1,
                   no_answer, s);
}

bool question_holds_cells(const struct session *s)
{
    return s->asks && s->asks_state;
}

struct connection *question_end(struct session *s)
{
    s->asks = false;
    loop_set_timer(&s->loop, TIMER_ASK, 0, NULL, NULL);
    return take_ptr(s->asking);
}

void question_begin(struct session *s, struct connection *c, struct kernel *k, uint64_t number)
{
    kernel_freeze(s, false);
    s->asks = true;
    s->asking = c;
    s->answers = k;
    s->asked = number;
    s->ask_pressed = s->asks_state = s->asks_copy = false;
    loop_set_timer(&s->loop, TIMER_ASK, clock_now_us() + ANSWER_US, no_answer, s);
}
