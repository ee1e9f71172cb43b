/* One cell from its code to its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/log.h"
#include "config/audit.h"
#include "monitor/capture.h"
#include "session/cell_record.h"
#include "session/supervisor.h"

#define CPU_LOOK_US 1000
#define SOON_US 500000     /* from the interrupt to the end, whatever the grace is */
#define READ_LOOK_US 5000  /* between two looks whether the kernel has read its cell */
#define SIGNAL_LOOK_US 200 /* and whether init has sent the signals for the last one */
#define SIGNAL_PATIENCE_US 1000000

static void begin_figures(struct session *s, struct cell *cell)
{
    runner_drain(s->job); /* what came before is not the cell's */
    runner_begin_denials(s->job, cell->kernel->index, &cell->refused, &s->background_denials);
    cell->peak_is_own = runner_reset_peaks(s->job);
    cell->before.struct_size = sizeof(cell->before);
    (void)sbr_job_metrics(s->job, &cell->before);
    cell->started_us = clock_now_us();
    cell->started_at_us = clock_read_us(CLOCK_REALTIME);
}

static void time_is_up(void *context, uint32_t events)
{
    (void)events;
    cell_stop_it(context, CELL_TIMEOUT);
}

void cell_hold_time(struct session *s, bool hold)
{
    struct cell *cell = s->cell;
    uint64_t now = clock_now_us();

    if (cell->stop != CELL_ON)
        return;
    if (hold) {
        cell->until_us = cell->until_us > now ? cell->until_us - now : 0;
        loop_set_timer(&s->loop, TIMER_CELL, 0, NULL, NULL);
        return;
    }
    cell->until_us += now;
    loop_set_timer(&s->loop, TIMER_CELL, cell->until_us, time_is_up, s);
}

static uint64_t cpu_used_us(const struct session *s)
{
    sbr_metrics now = { .struct_size = sizeof(now) };

    (void)sbr_job_metrics(s->job, &now);
    return now.cpu_user_us + now.cpu_system_us - s->cell->before.cpu_user_us -
           s->cell->before.cpu_system_us;
}

/* Fires at the earliest time at which the limit can be reached, with all CPUs busy. */
static void look_at_cpu(void *context, uint32_t events)
{
    struct session *s = context;
    uint64_t limit = s->limits.value[SBR_CPU_MS] * 1000, used = cpu_used_us(s);
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), wait;

    (void)events;
    if (used >= limit) {
        cell_stop_it(s, CELL_CPU);
        return;
    }
    wait = (limit - used) / (cpus ? cpus : 1);
    loop_set_timer(&s->loop, TIMER_CPU, clock_now_us() + (wait > CPU_LOOK_US ? wait : CPU_LOOK_US),
                   look_at_cpu, s);
}

static void init_streams(struct cell *cell)
{
    cell_display_begin(cell);
    head_tail_init(&cell->out, OUTPUT_KEPT / 2, OUTPUT_KEPT / 2);
    head_tail_init(&cell->err, OUTPUT_KEPT / 2, OUTPUT_KEPT / 2);
}

static void tell_start(struct session *s, struct cell *cell)
{
    struct buf out;

    cell->lines = cell->request.lines;
    if (!cell->client || !cell->request.stream || cell->lines.seq)
        return;
    buf_init(&out, 1 << 20);
    event_lines_start(&cell->lines, &s->request, &out);
    connection_send(s, cell->client, out.data, out.len);
    buf_done(&out);
}

static struct cell *cell_new(struct session *s, const struct cell_request *request, sbr_error *err)
{
    struct cell *cell = calloc(1, sizeof(*cell));

    if (!cell)
        err_set_oom(err, "session");
    else if (second_kernel_get(s, request->language, &cell->kernel, err) == 0)
        return cell;
    free(cell);
    return NULL;
}

static void send_code(struct cell *cell)
{
    char arg[FRAME_ARG_SIZE] = "-";

    if (cell->request.width)
        snprintf(arg, sizeof(arg), "%llu", (unsigned long long)cell->request.width);
    cell->sent = true;
    kernel_send(cell->kernel, "execute", cell->number, arg, cell->request.code, cell->request.len);
}

/* A cell may end while its interrupt is on its way; the next one must not get that. */
static void send_when_quiet(void *context, uint32_t events)
{
    struct session *s = context;
    uint64_t now = clock_now_us();

    (void)events;
    if (runner_signals_are_sent(s->job) || now > s->cell->started_us + SIGNAL_PATIENCE_US)
        send_code(s->cell);
    else
        loop_set_timer(&s->loop, TIMER_SEND, now + SIGNAL_LOOK_US, send_when_quiet, s);
}

void cell_begin(struct session *s, struct connection *client, struct cell_request *request)
{
    struct cell *cell;
    sbr_error err = { 0 };

    kernel_freeze(s, false);
    cell = cell_new(s, request, &err);
    if (!cell) {
        s->replay.different += request->number != 0;
        if (client)
            connection_error(s, client, &err);
        free(take_ptr(request->code));
        s->hooks->go_on(s);
        return;
    }
    cell->request = *request;
    request->code = NULL;
    cell->client = client;
    cell->number = cell->request.number ? cell->request.number : s->cells + 1;
    s->cells = cell->number > s->cells ? cell->number : s->cells;
    init_streams(cell);
    begin_figures(s, cell);
    s->cell = cell;
    s->state = SESSION_BUSY;
    loop_set_timer(&s->loop, TIMER_IDLE, 0, NULL, NULL);
    cell->until_us = cell->started_us + cell->request.timeout_ms * 1000;
    loop_set_timer(&s->loop, TIMER_CELL, cell->until_us, time_is_up, s);
    if (s->limits.value[SBR_CPU_MS] != LIMIT_NONE)
        look_at_cpu(s, 0);
    tell_start(s, cell);
    send_when_quiet(s, 0);
}

/* To a client that wants events, as they come. */
static void stream_output(struct session *s, int stream, const char *data, size_t len)
{
    struct cell *cell = s->cell;
    struct buf out;

    if (!cell->client || !cell->request.stream)
        return;
    buf_init(&out, 16 * len + 4096);
    event_lines_output(&cell->lines, stream, data, len, &out);
    if (!out.failed && out.len)
        connection_send(s, cell->client, out.data, out.len);
    buf_done(&out);
}

/* Output between cells comes from threads and processes that earlier ones left. */
static void keep_background(struct session *s, int stream, const char *data, size_t len)
{
    size_t which = stream == SBR_STDERR;

    head_tail_add(&s->background[which], data, len);
    s->background_bytes[which] += len;
}

void cell_output(struct session *s, int stream, const char *data, size_t len)
{
    struct cell *cell = s->cell;
    uint64_t *bytes, max = s->limits.value[SBR_OUTPUT_BYTES];
    size_t part;

    if (!cell) {
        keep_background(s, stream, data, len);
        return;
    }
    bytes = stream == SBR_STDERR ? &cell->err_bytes : &cell->out_bytes;
    part = *bytes >= max ? 0 : len < max - *bytes ? len : (size_t)(max - *bytes);
    *bytes += len;
    if (part) {
        head_tail_add(stream == SBR_STDERR ? &cell->err : &cell->out, data, part);
        stream_output(s, stream, data, part);
    }
    if (part < len && cell->stop == CELL_ON)
        cell_stop_it(s, CELL_OUTPUT);
}

static void cell_free(struct cell *cell)
{
    free(cell->request.code);
    head_tail_done(&cell->out);
    head_tail_done(&cell->err);
    buf_done(&cell->display);
    denials_done(&cell->denials);
    free(cell);
}

/* On record as a run is, when the configuration wants it. */
static void audit_cell(const struct session *s, const struct cell_end *end)
{
    char number[24];
    const struct audit_field fields[] = { { "session", s->dir.id },
                                          { "cell", number },
                                          { "language", s->language->name },
                                          { "caller", s->request.caller },
                                          { "verdict", result_verdict_name(end->verdict) } };
    const struct audit_program program = { .language = s->language->name,
                                           .code = s->cell->request.code,
                                           .code_len = s->cell->request.len,
                                           .is_cell = true };
    sbr_error err;

    if (!s->request.audit)
        return;
    snprintf(number, sizeof(number), "%llu", (unsigned long long)s->cell->number);
    if (audit_note_cell(fields, ARRAY_LEN(fields), &program, &s->request, &err) < 0)
        log_info("session", "%s", err.message);
}

/* The answer, the record, and no more cell. */
static void finish(struct session *s, const struct cell_end *end)
{
    struct cell *cell = s->cell;
    struct connection *client;
    struct event_lines lines;
    scoped_free char *json = NULL;
    struct buf out;

    for (unsigned int timer = TIMER_CELL; timer <= TIMER_KILL; timer++)
        loop_set_timer(&s->loop, timer, 0, NULL, NULL);
    loop_set_timer(&s->loop, TIMER_CPU, 0, NULL, NULL);
    loop_set_timer(&s->loop, TIMER_SEND, 0, NULL, NULL);
    json = cell_result(s, end);
    audit_cell(s, end);
    if (cell->request.number)
        replay_compare(s, json);
    if (!cell->request.unrecorded)
        cell_record_add(&s->dir, cell->number,
                        &(struct cell_source){ cell->request.code, cell->request.len,
                                               cell->kernel->index ? cell->kernel->language->name
                                                                   : NULL },
                        json);
    connection_let_output_go(s);
    s->cell = NULL;
    idle_note_cpu(s);
    s->used_us = clock_now_us();
    cell_slot_give_back(s);
    client = cell->client;
    lines = cell->lines;
    cell_free(cell); /* before the line, which is as long as what was kept */
    if (client) {
        buf_init(&out, json ? strlen(json) + 4096 : 4096);
        event_lines_end(&lines, json ? json : "null", &out);
        free(take_ptr(json));
        connection_send(s, client, out.data, out.len);
        buf_done(&out);
    }
}

static const char *const stop_texts[] = {
    [CELL_ON] = "",
    [CELL_TIMEOUT] = "the cell used up its time and was interrupted; --timeout gives more",
    [CELL_CANCELLED] = "the cell was interrupted",
    [CELL_OUTPUT] = "the cell wrote more than its limit and was interrupted; --max-output gives "
                    "more",
    [CELL_CPU] = "the cell used up its CPU time and was interrupted; --cpu-time gives more",
};

static const enum sbr_verdict stop_verdicts[] = { [CELL_TIMEOUT] = SBR_TIMEOUT,
                                                  [CELL_CANCELLED] = SBR_CANCELLED,
                                                  [CELL_OUTPUT] = SBR_OUTPUT_LIMIT,
                                                  [CELL_CPU] = SBR_CPU_LIMIT };

static int exit_code_of(const struct frame *frame)
{
    sbr_error ignored; /* without a code it is 0 */
    json_t *payload = json_read(frame->payload, frame->len, &json_read_line, JSON_ALLOW_NUL,
                                "the cell's end", &ignored);
    json_int_t code = payload ? json_integer_value(json_object_get(payload, "code")) : 0;

    json_decref(payload);
    return (int)(code & 0xff);
}

/* A kernel of another language that ends leaves the session. */
static void end_by_exit(struct session *s, struct kernel *k, int exit_code)
{
    if (!k->index) {
        snprintf(s->reason, sizeof(s->reason), "a cell ended the kernel with exit code %d",
                 exit_code);
        return; /* the end of the run follows */
    }
    s->hooks->end_kernel(k, "the cell ended it");
    s->state = SESSION_READY;
    s->hooks->go_on(s);
}

void cell_done(struct kernel *k, const struct frame *frame)
{
    struct cell_end end = { .verdict = SBR_EXITED, .exit_code = 1, .session = "kept" };
    struct session *s = k->session;
    bool exits = !strcmp(frame->arg, "exit");
    char anew[96];

    if (!s->cell || s->cell->kernel != k || frame->number != s->cell->number)
        return; /* a cell that was given up */
    connection_let_output_go(s);
    runner_drain(s->job);
    if (!s->cell)
        return; /* its last output ended it */
    snprintf(anew, sizeof(anew),
             "the cell ended the kernel; `sandbox-run session restart %s` begins anew", s->dir.id);
    if (exits)
        end = (struct cell_end){ .verdict = SBR_EXITED,
                                 .exit_code = exit_code_of(frame),
                                 .session = k->index ? "kept" : "lost",
                                 .explanation =
                                     k->index ? "the cell ended its kernel; the next one in that "
                                                "language begins anew"
                                              : anew };
    else if (s->cell->stop != CELL_ON)
        end = (struct cell_end){ .verdict = stop_verdicts[s->cell->stop],
                                 .exit_code = -1,
                                 .session = "kept",
                                 .explanation = stop_texts[s->cell->stop] };
    else if (!strcmp(frame->arg, "ok"))
        end.exit_code = 0;
    finish(s, &end);
    if (exits) {
        end_by_exit(s, k, end.exit_code);
        return;
    }
    s->state = SESSION_READY;
    s->hooks->go_on(s);
}

static void not_stopped(struct session *s)
{
    s->hooks->end_kernel(s->cell->kernel,
                         s->cell->kernel->index
                             ? "the cell did not end when it was interrupted, so its kernel was "
                               "killed"
                             : "the cell did not end when it was interrupted, so everything was "
                               "killed");
}

/* A kernel ignores an interrupt while no cell runs, so it first gets the time to read the cell.
 * What an earlier cell left running may keep it from that; after half of the grace an interrupt
 * ends that in the kernels that can. */
static uint64_t wait_for_reader(struct session *s, uint64_t now)
{
    struct cell *cell = s->cell;
    uint64_t half_us = s->limits.value[SBR_GRACE_MS] * 500;

    if (!cell->knocked && now + half_us >= cell->kill_us) {
        runner_signal_kernel(s->job, cell->kernel->index, SIGINT);
        cell->knocked = true;
    }
    return now + READ_LOOK_US < cell->kill_us ? now + READ_LOOK_US : cell->kill_us;
}

/* Interrupts the cell, once more after half of the grace, and then ends its kernel. */
static void press(void *context, uint32_t events)
{
    struct session *s = context;
    struct cell *cell = s->cell;
    uint64_t now = clock_now_us(), next = cell->kill_us;

    (void)events;
    if (now >= cell->kill_us) {
        not_stopped(s);
        return;
    }
    if (!cell->sent || !kernel_has_read(cell->kernel)) {
        next = wait_for_reader(s, now);
    } else {
        runner_signal_kernel(s->job, cell->kernel->index, SIGINT);
        if (!cell->pressed)
            next = now + (cell->kill_us - now) / 2;
        cell->pressed = true;
    }
    loop_set_timer(&s->loop, TIMER_KILL, next, press, s);
}

void cell_stop_it(struct session *s, enum cell_stop why)
{
    if (!s->cell || s->cell->stop != CELL_ON)
        return;
    s->cell->stop = why;
    s->cell->kill_us = clock_now_us() + s->limits.value[SBR_GRACE_MS] * 1000 + 1;
    press(s, 0);
}

void cell_end_soon(struct session *s)
{
    uint64_t soon_us = clock_now_us() + SOON_US;

    if (!s->cell || s->cell->kill_us <= soon_us)
        return;
    s->cell->kill_us = soon_us;
    loop_set_timer(&s->loop, TIMER_KILL, soon_us, press, s);
}

/* What stopped the cell counts, not how its kernel ended. */
static void name_stop(const struct cell *cell, struct cell_end *end)
{
    if (cell->stop == CELL_ON)
        return;
    end->verdict = stop_verdicts[cell->stop];
    end->exit_code = -1;
    end->signal = 0;
}

/* The end of the run has what its last cell was refused; the way out has what all were. */
static void take_last_denials(struct cell *cell, const sbr_result *result)
{
    bool outside = network_goes_outside(result->network.mode);

    for (size_t i = 0; i < result->denials.n; i++) {
        const struct denial *one = &result->denials.items[i];

        if (!outside || (one->kind != DENIAL_CONNECT && one->kind != DENIAL_NAME))
            denials_add(&cell->denials, one);
    }
}

void cell_lost(struct session *s, const sbr_result *result)
{
    struct cell_end end = { .verdict = result ? result->verdict : SBR_INTERNAL_ERROR,
                            .exit_code = result ? result->exit_code : -1,
                            .signal = result ? result->signal : 0,
                            .session = "lost",
                            .explanation = s->reason };

    if (!s->cell)
        return;
    name_stop(s->cell, &end);
    if (result)
        take_last_denials(s->cell, result);
    finish(s, &end);
}

void cell_without_kernel(struct session *s, const char *reason)
{
    struct cell_end end = {
        .verdict = SBR_EXITED, .exit_code = 1, .session = "kept", .explanation = reason
    };

    connection_let_output_go(s);
    runner_drain(s->job);
    if (!s->cell)
        return;
    name_stop(s->cell, &end);
    finish(s, &end);
    s->state = SESSION_READY;
    s->hooks->go_on(s);
}
