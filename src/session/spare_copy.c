/* A copy of a session in a spare one of its kind, whose sandbox and kernel are there already.  The
 * kernel has executed nothing yet; it executes the loader in its place, and that becomes the copy
 * as in a sandbox of its own (memory_copy.c).  The state goes from one supervisor to the other:
 * numbers in the line that adopts the spare, the rest in the file of the snapshot. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "session/session_program.h"
#include "session/snapshot.h"

#define BECOME_US 5000000 /* from the kernel's order to the loader's first word */

enum { GIVEN_FILES, GIVEN_IMAGE, GIVEN_IMAGE_2, GIVEN_READY }; /* CONNECTION_GIVEN of them */

static json_t *describe(const struct session *made)
{
    json_t *copy = snapshot_write(made->replay.files, made->replay.history);

    json_object_set_new(copy, "cells", json_integer((json_int_t)made->cells));
    json_object_set_new(copy, "first_cell", json_integer((json_int_t)made->first_cell));
    json_object_set_new(copy, "skips", json_boolean(made->skips));
    return copy;
}

/* One message, so that the file descriptors come with the line. */
static bool send_line(const sbr_session *spare, json_t *take_words, const int *fds)
{
    scoped_free char *text = take_words ? json_dumps(take_words, JSON_COMPACT) : NULL;
    size_t len = text ? strlen(text) : 0;

    json_decref(take_words);
    if (!text)
        return false;
    text[len++] = '\n'; /* in place of its end */
    return fd_send(spare->fd, text, len, fds, CONNECTION_GIVEN) == 0;
}

static bool send_state(const sbr_session *spare, const struct session *made, int ready_fd)
{
    const int fds[CONNECTION_GIVEN] = { [GIVEN_FILES] = made->replay.files->data_fd,
                                        [GIVEN_IMAGE] = made->image_fds[0],
                                        [GIVEN_IMAGE_2] = made->image_fds[1],
                                        [GIVEN_READY] = ready_fd };
    json_t *words = spare_adopt_words(made->spare.key, &made->request, &made->bounds);
    json_t *copy = describe(made);

    if (copy && json_object_set_new(words, "copy", copy) == 0)
        return send_line(spare, words, fds);
    json_decref(words);
    return false;
}

static bool is_taken(sbr_session *spare)
{
    scoped_free char *line = NULL;
    sbr_error ignored; /* the copy is made in a new sandbox */
    json_t *answer;
    size_t len;
    bool taken;

    if (session_client_read(spare, &line, &len, &ignored) < 0)
        return false;
    answer = json_read(line, len, &json_read_answer, 0, "the answer", NULL);
    taken = json_object_get(answer, "answer") != NULL;
    json_decref(answer);
    return taken;
}

bool spare_copy_give(const struct session *made, int *ret_fd)
{
    bool fits = made->spare.key[0] && made->image_fds[0] >= 0 && spare_is_plain(&made->request);
    sbr_session *spare = fits ? spare_connect(made->spare.key) : NULL;
    int ready[2];
    bool given;

    if (!spare)
        return false;
    if (pipe2(ready, O_CLOEXEC) < 0) {
        session_client_free(spare);
        return false;
    }
    given = send_state(spare, made, ready[1]) && is_taken(spare);
    session_client_free(spare);
    close(ready[1]);
    if (given)
        *ret_fd = ready[0];
    else
        close(ready[0]);
    return given;
}

static void became_late(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->hooks->lose(s, "the loader of the copy was not ready in time");
}

static uint64_t number_in(const json_t *copy, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(copy, name));
}

static void drop_state(struct session *s)
{
    memory_copy_forget(s);
    if (s->ready_fd >= 0)
        close(take_fd(s->ready_fd));
    snapshot_free(take_ptr(s->replay.files));
    free(take_ptr(s->replay.history));
}

static int take_state(struct session *s, struct connection *c, const json_t *copy, sbr_error *err)
{
    char *history = NULL;
    int fds[CONNECTION_GIVEN];

    if (!kernel_can(&s->kernels[0], "copy") || !connection_take_given(c, fds))
        return err_set(err, SBR_E_UNSUPPORTED, "session", "this spare session cannot be a copy");
    s->replay = (struct replay){ .record = true };
    s->image_fds[0] = fds[GIVEN_IMAGE];
    s->image_fds[1] = fds[GIVEN_IMAGE_2];
    s->ready_fd = fds[GIVEN_READY];
    s->replay.files = snapshot_read(fds[GIVEN_FILES], copy, &history);
    s->replay.history = history;
    if (!s->replay.files) {
        drop_state(s);
        return err_set(err, SBR_E_INVALID, "session", "the state of the copy is not sound");
    }
    s->cells = number_in(copy, "cells");
    s->first_cell = number_in(copy, "first_cell");
    s->skips = json_is_true(json_object_get(copy, "skips"));
    return 0;
}

static void begin(struct session *s)
{
    loop_set_timer(&s->loop, TIMER_IDLE, 0, NULL, NULL); /* until it is ready */
    s->used_us = 0;
    s->spare.taken = true;
    s->state = SESSION_STARTING;
    s->started_us = clock_now_us();
    loop_set_timer(&s->loop, TIMER_START, s->started_us + BECOME_US, became_late, s);
    kernel_send(&s->kernels[0], "become", 0, "-", "", 0);
}

json_t *spare_copy_adopt(struct session *s, struct connection *c, const json_t *line,
                         sbr_error *err)
{
    json_t *answer;

    if (!s->spare.waits)
        return spare_adopt(s, line, err); /* says that this is no spare */
    if (take_state(s, c, json_object_get(line, "copy"), err) < 0)
        return NULL;
    answer = spare_adopt(s, line, err);
    if (answer)
        begin(s);
    else
        drop_state(s);
    return answer;
}
