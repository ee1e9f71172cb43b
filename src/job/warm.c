#include "job/warm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "image/image.h"
#include "job/engine_hello.h"
#include "job/engine_socket.h"
#include "job/job_types.h"
#include "job/warm_blueprint.h"
#include "sandbox/peer.h"

/* How long the job waits for an engine that does not even say that there is a queue. */
#define PATIENCE_US 2000000

static bool ask(sbr_job *job);

static void close_given(struct warm *warm)
{
    while (warm->n_given > 0)
        close(warm->given[--warm->n_given]);
}

static void close_files(struct warm *warm)
{
    while (warm->n_files > 0)
        close(warm->files[--warm->n_files]);
}

/* The engine ends what it leased over a connection that is closed. */
static void hang_up(sbr_job *job)
{
    struct warm *warm = &job->warm;

    loop_remove(&job->loop, &warm->watch);
    scope_close_fd(&warm->fd);
    warm->fd = -1;
    warm->sent_key[0] = '\0';
    warm->used_before = false;
    warm->state = WARM_IDLE;
}

static void release_place(sbr_job *job)
{
    struct warm *warm = &job->warm;
    struct engine_request done = { .version = ENGINE_VERSION, .ask = ENGINE_DONE };

    if (warm->state == WARM_ASKED || warm->state == WARM_GRANTED ||
        (warm->state == WARM_HOLDS && fd_send(warm->fd, &done, sizeof(done), NULL, 0) < 0))
        hang_up(job);
    warm->state = WARM_IDLE;
}

/* The answer is there, or the job waits no longer for one. */
static void go_on(sbr_job *job, enum warm_state state)
{
    struct warm *warm = &job->warm;

    loop_set_timer(&job->loop, TIMER_RETRY, 0, NULL, NULL);
    if (warm->fd >= 0)
        loop_remove(&job->loop, &warm->watch);
    warm->state = state;
    if (warm->queued)
        warm->queue_us += clock_now_us() - warm->asked_us;
    warm->answered(job);
}

static void patience_ended(void *context, uint32_t events)
{
    sbr_job *job = context;

    const pid_t pid = peer_pid(job->warm.fd);

    (void)events;
    snprintf(job->warm.note, sizeof(job->warm.note),
             "the engine, process %d, does not answer, so this run started cold; `kill -9 %d` ends "
             "it if that lasts",
             (int)pid, (int)pid);
    log_info("engine", "%s", job->warm.note);
    hang_up(job);
    job->warm.off = true;
    go_on(job, WARM_IDLE);
}

static void take_place_in_queue(sbr_job *job)
{
    struct warm *warm = &job->warm;

    warm->queued = true;
    loop_set_timer(&job->loop, TIMER_RETRY, 0, NULL, NULL);
    log_info("engine", "queued, %u before this one", warm->reply.position);
    if (job->on_queue)
        job->on_queue(job->on_stage_context, warm->reply.position);
}

/* The engine does not know the blueprint.  False: the request had it already. */
static bool ask_with_blueprint(sbr_job *job)
{
    struct warm *warm = &job->warm;

    if (warm->request.has_blueprint || !warm->request.key[0])
        return false;
    warm->sent_key[0] = '\0';
    loop_remove(&job->loop, &warm->watch);
    warm->state = WARM_HOLDS;
    release_place(job);
    return warm->fd >= 0 && ask(job);
}

static void understand(sbr_job *job)
{
    struct warm *warm = &job->warm;

    switch ((enum engine_answer)warm->reply.answer) {
    case ENGINE_QUEUED:
        take_place_in_queue(job);
        return;
    case ENGINE_GRANT:
        go_on(job, WARM_GRANTED);
        return;
    case ENGINE_COLD:
        if (warm->reply.unknown && ask_with_blueprint(job))
            return;
        go_on(job, WARM_HOLDS);
        return;
    case ENGINE_REFUSED:
        go_on(job, WARM_IDLE);
        return;
    case ENGINE_STATE:
        break;
    }
    log_info("engine", "its answer cannot be understood");
    hang_up(job);
    go_on(job, WARM_IDLE);
}

/* An engine that hangs up without a word and still listens is of a version that has none for us. */
static void note_stranger(struct warm *warm, ssize_t n)
{
    struct engine_identity who = { .kind = ENGINE_OF_OLD, .pid = peer_pid(warm->fd) };
    struct engine_hello hello;
    scoped_fd int again = -1;
    char text[WARM_NOTE_SIZE - 60];

    memcpy(&hello, &warm->reply, sizeof(hello));
    if (engine_hello_is(&hello, n)) {
        who.kind = ENGINE_OF_OTHER;
        who.version = hello.version;
        memcpy(who.release, hello.release, sizeof(who.release));
    } else if (n <= 0 && (engine_connect(&again) < 0 || peer_pid(again) != who.pid)) {
        log_info("engine", "it has ended");
        return;
    }
    engine_hello_describe(&who, text, sizeof(text));
    snprintf(warm->note, sizeof(warm->note),
             "%s, so runs start cold; `sandbox-run serve --stop` ends it", text);
    log_info("engine", "%s", warm->note);
}

static void answer_came(void *context, uint32_t events)
{
    sbr_job *job = context;
    struct warm *warm = &job->warm;
    int fds[FD_MAX_PASSED];
    size_t n_fds;
    ssize_t n = fd_receive(warm->fd, &warm->reply, sizeof(warm->reply), fds, &n_fds);
    bool reconnect = warm->used_before;

    (void)events;
    if (n < 0 && errno == EAGAIN)
        return;
    warm->n_given = n_fds < SANDBOX_MAX_GIVEN ? n_fds : SANDBOX_MAX_GIVEN;
    memcpy(warm->given, fds, warm->n_given * sizeof(fds[0]));
    while (n_fds > warm->n_given)
        close(fds[--n_fds]);
    if (n == (ssize_t)sizeof(warm->reply) && warm->reply.version == ENGINE_VERSION) {
        warm->reply.reason[sizeof(warm->reply.reason) - 1] = '\0';
        warm->used_before = false; /* the engine still runs */
        if (warm->reply.answer != ENGINE_GRANT)
            close_given(warm);
        understand(job);
        return;
    }
    close_given(warm);
    if (!reconnect)
        note_stranger(warm, n);
    hang_up(job);
    if (reconnect && ask(job)) /* another engine was started after the last run */
        return;
    if (reconnect)
        log_info("engine", "it has ended");
    warm->reply = (struct engine_reply){ .answer = ENGINE_COLD };
    go_on(job, WARM_IDLE);
}

static int send_request(struct warm *warm)
{
    scoped_fd int blueprint = -1;
    struct engine_request *request = &warm->request;

    request->has_blueprint =
        request->key[0] && memcmp(request->key, warm->sent_key, sizeof(request->key)) != 0;
    if (request->has_blueprint) {
        blueprint = fd_sealed_memory("blueprint", warm->blueprint.data, warm->blueprint.len, 0);
        if (blueprint < 0)
            return -1;
    }
    if (fd_send(warm->fd, request, sizeof(*request), &blueprint, request->has_blueprint) < 0)
        return -1;
    if (request->has_blueprint)
        memcpy(warm->sent_key, request->key, sizeof(warm->sent_key));
    return 0;
}

/* False: there is no engine. */
static bool ask(sbr_job *job)
{
    struct warm *warm = &job->warm;

    for (;;) {
        bool again = warm->used_before;

        if (warm->fd < 0 && engine_connect(&warm->fd) < 0)
            return false;
        warm->watch = loop_watch_of(warm->fd, answer_came, job);
        if (send_request(warm) == 0 && loop_add(&job->loop, &warm->watch, EPOLLIN) == 0)
            break;
        hang_up(job);
        if (!again)
            return false;
    }
    warm->state = WARM_ASKED;
    warm->reply = (struct engine_reply){ .answer = ENGINE_COLD };
    loop_set_timer(&job->loop, TIMER_RETRY, clock_now_us() + PATIENCE_US, patience_ended, job);
    return true;
}

/* A stage that is started cold takes its compiled program from the store, not by the fds that only
 * a sandbox of the engine's is given. */
static bool ask_no_more(sbr_job *job, size_t n_ops)
{
    close_files(&job->warm);
    job->now.plan->n_ops = n_ops;
    return false;
}

bool warm_ask(sbr_job *job, const struct plan_input *in)
{
    struct warm *warm = &job->warm;
    size_t n_ops = job->now.plan->n_ops;
    const char *why;

    engine_connections_find(job->rt->pool, warm);
    if (warm->off)
        return false;
    warm->asked_us = clock_now_us();
    warm->queue_us = 0;
    warm->queued = false;
    warm->request = (struct engine_request){ .version = ENGINE_VERSION, .ask = ENGINE_LEASE };
    snprintf(warm->request.label, sizeof(warm->request.label), "%.12s %s%s%.8s",
             job->language ? job->language->name : "command", stage_name(in->stage),
             job->image ? " " : "", job->image ? job->image->id : "");
    snprintf(warm->request.caller, sizeof(warm->request.caller), "%s", job->req->caller);
    warm->request.share = job->req->share;
    warm->request.memory_bytes = job->now.plan->limits.value[SBR_MEMORY_BYTES];
    why = warm_blueprint_make(job, in);
    if (why)
        log_info("engine", "cold, because %s; asking for a place only", why);
    return ask(job) || ask_no_more(job, n_ops);
}

static enum warm_entry enter_granted(sbr_job *job)
{
    struct warm *warm = &job->warm;
    struct stage_run *now = &job->now;
    size_t n = warm->n_given;
    sbr_error err;

    warm->state = WARM_HOLDS;
    warm->n_given = 0; /* they are the sandbox's */
    if (sandbox_take(&now->box, &warm->reply.handover, warm->given, n, &err) < 0) {
        log_info("engine", "cold, because %s", err.message);
        return WARM_COLD;
    }
    if (sandbox_go(&now->box, now->plan, warm->files, warm->n_files, &err) < 0) {
        log_info("engine", "cold, because %s", err.message);
        sandbox_end(&now->box);
        sandbox_done(&now->box);
        return WARM_COLD;
    }
    now->startup = warm->reply.way == ENGINE_READY ? "parked" : "forked";
    log_info("engine", "in a sandbox that was %s",
             warm->reply.way == ENGINE_READY ? "made ahead" : "forked on request");
    return WARM_ENTERED;
}

enum warm_entry warm_enter(sbr_job *job, sbr_error *err)
{
    struct warm *warm = &job->warm;
    enum warm_entry entry = WARM_COLD;

    if (warm->state == WARM_GRANTED) {
        entry = enter_granted(job);
    } else if (warm->reply.answer == ENGINE_REFUSED) {
        entry = WARM_REFUSED;
        err_set(err, SBR_E_BUSY, "engine", "%.120s; try again later, or with --cold",
                warm->reply.reason);
    } else {
        log_info("engine", "cold%s%s", warm->reply.reason[0] ? ", because " : "",
                 warm->reply.reason);
    }
    close_files(warm);
    return entry;
}

void warm_release(sbr_job *job)
{
    close_given(&job->warm);
    close_files(&job->warm);
    release_place(job);
}
