/* A copy of a session by the memory of its kernel: a forked child of the kernel writes it into a
 * pair of pipes, and the first program of the new sandbox reads it there and becomes that kernel
 * (live/session_copy.h).  No byte of it is read here.  Where it cannot be done, or fails, the
 * recorded cells are executed again. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/cell_record.h"
#include "session/snapshot.h"
#include "session/supervisor.h"

#define PIPE_SIZE (1 << 20)
#define LOAD_US 20000000 /* from the pipe to the copy's first word */

/* What else a sandbox has changed of its own is only in the cells: trees and other kernels. */
static bool is_possible(const struct session *s)
{
    json_t *others = second_kernel_names(s);
    bool alone = json_array_size(others) == 0;

    json_decref(others);
    return alone && kernel_can(&s->kernels[0], "copy") && !request_has_cow(&s->request) &&
           !s->request.workspace && s->request.volumes == NULL;
}

static int make_pipes(int from[2], int to[2])
{
    for (size_t i = 0; i < 2; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return -1;
        (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
        from[i] = ends[0];
        to[i] = ends[1];
    }
    return 0;
}

static void close_both(int fds[2])
{
    for (size_t i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(take_fd(fds[i]));
}

/* It does so while the new sandbox is made.  One that cannot after all closes the pipes, and the
 * loader finds that nothing is in them. */
bool memory_copy_ask(struct session *s, struct connection *c)
{
    int to[2] = { -1, -1 };

    memory_copy_forget(s);
    if (!is_possible(s))
        return false;
    if (make_pipes(s->image_fds, to) == 0 &&
        kernel_send_pipes(&s->kernels[0], "copy", s->asked + 1, to)) {
        question_begin(s, c, &s->kernels[0], s->asked + 1);
        s->asks_copy = true;
    } else {
        memory_copy_forget(s);
    }
    close_both(to);
    return s->image_fds[0] >= 0;
}

/* Its pipes are empty then, and the copy knows no more than that. */
void memory_copy_answered(struct session *s, const struct frame *frame, const json_t *payload)
{
    const char *why = json_string_value(json_object_get(payload, "message"));

    if (why && strcmp(frame->arg, "ok") != 0 && !link_is_alone(&s->copies))
        snprintf(link_owner(s->copies.prev, struct session_copy, link)->because,
                 sizeof(((struct session_copy *)0)->because), "%s", why);
}

void memory_copy_forget(struct session *s)
{
    close_both(s->image_fds);
}

static void start_late(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->hooks->lose(s, "the copy of the kernel was not ready in time");
}

void memory_copy_load(struct session *s)
{
    json_t *how = json_object();
    sbr_error err = { 0 };
    bool sent;

    if (snapshot_lay_out(s, s->replay.files, how, &err) < 0)
        json_object_set_new(how, "error", json_string(err.message));
    json_decref(s->copied);
    s->copied =
        json_pack("{s:s, s:i, s:i, s:o, s:[s, s, s]}", "by", "fork", "replayed", 0, "different", 0,
                  "files", how, "not_covered", "threads", "sockets", "children");
    sent = kernel_send_pipes(&s->kernels[0], "load", 0, s->image_fds);
    memory_copy_forget(s);
    s->becomes = true;
    if (!sent)
        s->hooks->lose(s, "the copy of the kernel takes nothing");
    else
        loop_set_timer(&s->loop, TIMER_START, clock_now_us() + LOAD_US, start_late, s);
    /* The copy has the cells of the first session behind it.  There is time now: pages are read. */
    if (sent && s->replay.history)
        cell_record_write(&s->dir, s->replay.history);
}

void memory_copy_done(struct session *s)
{
    free(take_ptr(s->replay.history));
    snapshot_free(take_ptr(s->replay.files));
    s->becomes = false;
}

bool memory_copy_failed(struct session *s)
{
    bool failed = s->becomes || s->image_fds[0] >= 0;
    sbr_error err = { 0 };

    memory_copy_forget(s);
    s->becomes = false;
    if (!failed)
        return false;
    json_decref(take_ptr(s->copied));
    cell_record_clear(&s->dir);
    snprintf(s->replay.because, sizeof(s->replay.because), "%.230s", s->reason);
    if (replay_history(s, &err) < 0) {
        snprintf(s->reason, sizeof(s->reason), "%.200s", err.message);
        return false;
    }
    return !s->over && !s->closing;
}
