#include "session/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "changes/given_trees.h"
#include "session/snapshot.h"

#define START_US 60000000 /* from the request to the kernel's first word */

const char *supervisor_state_name(const struct session *s)
{
    static const char *const names[N_SESSION_STATES] = { "starting", "ready", "busy", "lost" };

    return s->state == SESSION_READY && s->frozen ? "frozen" : names[s->state];
}

void supervisor_note(const struct session *s)
{
    char boot[SESSION_BOOT_SIZE];
    json_t *meta, *trees;
    scoped_free char *text = NULL;
    sbr_error ignored; /* `list` then knows less of a session whose supervisor died */

    session_dir_boot_id(boot);
    meta = json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:s?}", "id", s->dir.id, "lang",
                     s->language->name, "created", (json_int_t)(s->created_at_us / 1000000),
                     "boot_id", boot, "pid", (json_int_t)getpid(), "cells", (json_int_t)s->cells,
                     SESSION_META_MEMORY, (json_int_t)s->request.limits.value[SBR_MEMORY_BYTES],
                     "reason", s->state == SESSION_LOST ? s->reason : NULL);
    trees = given_trees_describe(&s->request);
    if (trees)
        json_object_set_new(meta, GIVEN_TREES_KEY, trees);
    text = meta ? json_dumps(meta, JSON_COMPACT) : NULL;
    json_decref(meta);
    if (text && !s->closing)
        (void)!session_dir_write(&s->dir, SESSION_META, text, &ignored);
}

json_t *supervisor_describe_start(const struct session *s, const char *startup)
{
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:s, s:f}", "id", s->dir.id, "lang", s->language->name, "state",
                  "ready", "startup", startup, "startup_ms", (double)s->startup_us / 1000);

    json_object_set_new(line, "ports", session_ports(s));
    return line;
}

/* The client that created the session waits for this line. */
static void report_start(struct session *s, const sbr_error *err)
{
    scoped_free char *text = NULL;
    bool heard = false;
    json_t *line;

    if (s->ready_fd < 0)
        return;
    if (err)
        line = json_pack("{s:{s:i, s:s, s:s}}", "error", "code", err->code, "stage", err->stage,
                         "message", err->message);
    else
        line = supervisor_describe_start(s, s->spare.taken ? "parked" : "cold");
    if (!err && s->copied)
        json_object_update(line, s->copied);
    text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (text)
        heard = fd_write_all(s->ready_fd, text, strlen(text)) == 0;
    close(take_fd(s->ready_fd));
    if (!err) {
        idle_await_hold(s, heard);
        s->hooks->leave_spare(s);
    }
}

/* What the end of the run means for the session, in one sentence. */
static void name_end(struct session *s, const sbr_result *result, const sbr_error *err)
{
    if (s->reason[0])
        return;
    if (!result)
        snprintf(s->reason, sizeof(s->reason), "%.200s", err->message);
    else if (result->explanation[0])
        snprintf(s->reason, sizeof(s->reason), "%.230s", result->explanation);
    else if (result->verdict == SBR_EXITED)
        snprintf(s->reason, sizeof(s->reason),
                 s->cell
                     ? "the cell ended the kernel with exit code %d; `sandbox-run session restart "
                       "%s` begins anew"
                     : "the kernel ended with exit code %d",
                 result->exit_code, s->dir.id);
    else
        snprintf(s->reason, sizeof(s->reason), "the kernel ended: %s",
                 result_verdict_name(result->verdict));
    if (result)
        installer_words_add(s, result);
}

static void drop_job(struct session *s)
{
    loop_remove(&s->loop, &s->job_watch);
    for (size_t i = 0; i < KERNELS_MAX; i++)
        kernel_channel_close(&s->kernels[i]);
    loop_set_timer(&s->loop, TIMER_CHANNEL, 0, NULL, NULL);
    loop_set_timer(&s->loop, TIMER_START, 0, NULL, NULL);
    loop_set_timer(&s->loop, TIMER_ASK, 0, NULL, NULL);
}

/* What the request names cannot be installed; otherwise the machine lacks something. */
static int start_fault(const struct session *s, const sbr_result *result, sbr_error *ret)
{
    bool named = result && result->verdict == SBR_INSTALL_FAILED;

    return err_set(ret, named ? SBR_E_INVALID : SBR_E_UNSUPPORTED, "session",
                   "the kernel did not start: %.430s", s->reason);
}

static void fail_start(struct session *s, const sbr_result *result, const sbr_error *err)
{
    sbr_error why;

    if (s->ready_fd < 0)
        return;
    if (err && err->code)
        why = *err;
    else
        start_fault(s, result, &why);
    report_start(s, &why);
    s->closing = s->over = true;
}

void supervisor_answer_restart(struct session *s, const sbr_error *err)
{
    struct connection *c = take_ptr(s->starting);

    if (c && err)
        connection_error(s, c, err);
    else if (c)
        connection_answer(s, c,
                          json_pack("{s:s, s:s, s:f}", "id", s->dir.id, "state", "ready",
                                    "startup_ms", (double)s->startup_us / 1000));
}

/* Clients that wait for a kernel's word. */
static void refuse_asking(struct session *s)
{
    sbr_error err;

    err_set(&err, SBR_E_UNSUPPORTED, "session", "the session is lost: %.200s", s->reason);
    if (s->asks && !s->asks_copy)
        connection_error(s, s->asking, &err);
    (void)question_end(s);
    for (size_t i = 0; i < KERNELS_MAX; i++)
        if (s->kernels[i].starter)
            connection_error(s, take_ptr(s->kernels[i].starter), &err);
}

/* The run is over; `result` is NULL when there is none. */
static void job_ended(struct session *s, const sbr_result *result, const sbr_error *err)
{
    bool started = s->state != SESSION_STARTING;
    sbr_error again;

    name_end(s, result, err);
    drop_job(s);
    cell_lost(s, result);
    refuse_asking(s);
    sbr_job_free(take_ptr(s->job));
    if (started)
        memory_copy_forget(s);
    else if (memory_copy_failed(s) && supervisor_start_job(s, &again) == 0)
        return; /* by its cells */
    s->state = SESSION_LOST;
    s->frozen = false;
    s->used_us = clock_now_us();
    supervisor_note(s);
    if (started && s->replay.cells) {
        supervisor_replay_failed(s);
        fail_start(s, result, err);
    }
    if (!started) {
        sbr_error why;

        start_fault(s, result, &why);
        supervisor_answer_restart(s, &why);
        fail_start(s, result, err);
    }
    supervisor_go_on(s);
}

static void job_ready(void *context, uint32_t events)
{
    struct session *s = context;
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    int r;

    (void)events;
    r = sbr_job_dispatch(s->job, &result, &err);
    if (r != 0) {
        job_ended(s, r == 1 ? result : NULL, &err);
        sbr_result_free(result);
        return;
    }
    if (s->kernels[0].watch.fd < 0 && s->state == SESSION_STARTING && runner_kernel_fd(s->job) >= 0)
        kernel_channel_open(&s->kernels[0], runner_kernel_fd(s->job));
}

void supervisor_restart(struct session *s, struct connection *c, json_t *take_cells)
{
    sbr_error err = { 0 };

    supervisor_lose(s, "the session was restarted");
    if (take_cells)
        replay_set(s, take_cells, false);
    else
        s->first_cell = s->cells + 1;
    snapshot_drop_from(s, 0); /* states of another kernel */
    for (size_t i = 0; i < KERNELS_MAX; i++)
        json_decref(take_ptr(s->kernels[i].hello));
    s->starting = c;
    if (supervisor_start_job(s, &err) == 0)
        return;
    snprintf(s->reason, sizeof(s->reason), "%.200s", err.message);
    s->state = SESSION_LOST;
    sbr_job_free(take_ptr(s->job));
    supervisor_answer_restart(s, &err);
}

/* The end of its channel ends a kernel as an exit would, so that init hands out what it left. */
void supervisor_close(struct session *s, const char *reason, json_t *answer)
{
    scoped_free char *json = NULL;
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    json_t *all;

    if (!s->job || s->state != SESSION_READY || !s->tells_changes) {
        supervisor_lose(s, reason);
        return;
    }
    snprintf(s->reason, sizeof(s->reason), "%s", reason);
    kernel_freeze(s, false);
    shutdown(s->kernels[0].watch.fd, SHUT_RDWR);
    drop_job(s);
    if (sbr_job_finish(s->job, &result, &err) == 0 && (json = sbr_result_to_json(result))) {
        all = json_read_own(json, 0);
        json_object_set(answer, "changes", json_object_get(all, "changes"));
        json_object_set(answer, "changes_id", json_object_get(all, "changes_id"));
        json_decref(all);
    }
    job_ended(s, result, &err);
    sbr_result_free(result);
}

static void output_came(void *context, int stream, const char *data, size_t len)
{
    cell_output(context, stream, data, len);
}

static void start_late(void *context, uint32_t events)
{
    (void)events;
    supervisor_lose(context, "the kernel did not say within a minute that it is ready");
}

/* The stages before the kernel's own, such as the installation of packages, have limits of their
 * own: the minute begins with the kernel. */
static void stage_began(void *context, const sbr_event *event)
{
    struct session *s = context;

    if (event->type == SBR_EVENT_PORT)
        session_note_port(s, event);
    if (event->type == SBR_EVENT_STAGE && event->stage && s->state == SESSION_STARTING)
        loop_set_timer(&s->loop, TIMER_START,
                       strcmp(event->stage, "run") ? 0 : clock_now_us() + START_US, start_late, s);
}

int supervisor_start_job(struct session *s, sbr_error *err)
{
    network_done(&s->granted); /* the request has them by now */
    s->granted = s->noted = (struct network){ 0 };
    s->reason[0] = '\0';
    s->state = SESSION_STARTING;
    s->request.kernel_copy = s->image_fds[0] >= 0;
    s->started_us = clock_now_us();
    s->kernels[0].watch.fd = -1;
    if (sbr_job_start(s->rt, &s->request, &s->job, err) < 0)
        return err->code;
    (void)sbr_job_on_output(s->job, output_came, s);
    (void)sbr_job_on_event(s->job, stage_began, s);
    (void)sbr_job_set_result_output(s->job, 0);
    s->job_watch = loop_watch_of(sbr_job_fd(s->job), job_ready, s);
    if (loop_add(&s->loop, &s->job_watch, EPOLLIN) < 0)
        return err_set_errno(err, "session", "cannot watch the kernel's run");
    loop_set_timer(&s->loop, TIMER_START, clock_now_us() + START_US, start_late, s);
    return 0;
}

/* Ends everything inside without asking; the run's result may name a limit that was the cause. */
void supervisor_lose(struct session *s, const char *reason)
{
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    int r;

    if (!s->job)
        return;
    if (!s->reason[0])
        snprintf(s->reason, sizeof(s->reason), "%s", reason);
    kernel_freeze(s, false);
    drop_job(s);
    sbr_job_cancel(s->job);
    sbr_job_cancel(s->job);
    r = sbr_job_finish(s->job, &result, &err);
    job_ended(s, r < 0 ? NULL : result, &err);
    sbr_result_free(result);
}

/* Clients whose cells can never begin. */
static void refuse_waiting(struct session *s)
{
    struct cell_request request;
    struct connection *c;
    sbr_error err;

    err_set(&err, SBR_E_UNSUPPORTED, "session", "the session is lost: %.200s", s->reason);
    while ((c = connection_next(s, &request)) != NULL) {
        free(request.code);
        connection_error(s, c, &err);
    }
}

void supervisor_go_on(struct session *s)
{
    struct cell_request request;
    struct connection *c;

    if (s->spare.waits) {
        s->hooks->spare_go_on(s);
        return;
    }
    connection_resume_lines(s);
    if (s->state == SESSION_LOST)
        refuse_waiting(s);
    if (s->state == SESSION_READY && question_holds_cells(s))
        return;
    if (s->state == SESSION_READY && (s->replay.cells || connection_waiting(s, NULL)) &&
        !cell_slot_take(s))
        return;
    if (s->state == SESSION_READY && s->replay.cells && supervisor_replays(s))
        return;
    if (s->state == SESSION_READY) {
        report_start(s, NULL);
        c = connection_next(s, &request);
        if (c) {
            cell_begin(s, c, &request);
            return;
        }
    }
    if (s->state != SESSION_BUSY) {
        cell_slot_give_back(s);
        idle_begin(s);
    }
}

void supervisor_run(struct session *s)
{
    sbr_error err = { 0 };

    if (supervisor_start_job(s, &err) < 0) {
        snprintf(s->reason, sizeof(s->reason), "%.200s", err.message);
        fail_start(s, NULL, &err);
        s->over |= s->spare.waits;
    }
    while (!s->over)
        if (loop_turn(&s->loop, LOOP_FOREVER) < 0)
            break;
    connection_write_all(s);
    connection_close_all(s);
    if (s->spare.waits)
        session_dir_remove_spare(&s->dir);
    else if (s->closing)
        (void)!session_dir_remove(&s->dir, &err);
}
