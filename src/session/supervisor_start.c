/* Makes the process of a session: in a session of its own, without a terminal, with no file
 * descriptor of its maker.  A client executes our program for it (session_program.c).  A supervisor
 * forks: it has no threads, and a copy or a spare session takes over what is in its memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/language.h"
#include "sandbox/spawn.h"
#include "session/directory_watch.h"
#include "session/session_entry.h"
#include "session/session_program.h"
#include "session/snapshot.h"
#include "session/supervisor.h"

#define GRACE_MS 2000             /* from the interrupt of a cell to the end of its kernel */
#define AGE_SLACK_MS (15 * 60000) /* for the time that a spare one waits, too */
#define COPIES_MAX 4              /* at a time */
/* The client that has just got a session works in it, or wants the next one at once.  Both take
 * longer while a spare one is made: a copy without one 40 ms instead of 25. */
#define QUIET_NS 30000000L

/* Keeps `n` fds, which become 3, 4, ... */
static int leave_maker(int *const *fds, size_t n)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (size_t i = 0; i < n; i++) /* above all that is going to be overwritten */
        if ((*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, 3 + (int)n)) < 0)
            return -1;
    for (int i = 0; i < 3; i++)
        if (null < 0 || dup2(null, i) < 0)
            return -1;
    for (size_t i = 0; i < n; i++) {
        int target = 3 + (int)i;

        if (dup3(*fds[i], target, O_CLOEXEC) < 0)
            return -1;
        *fds[i] = target;
    }
    syscall(SYS_close_range, 3 + (unsigned int)n, ~0U, 0);
    (void)!chdir("/");
    umask(077);
    prctl(PR_SET_NAME, SESSION_PROGRAM_NAME, 0, 0, 0);
    return 0;
}

static void reset_signals(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The run of the kernel lasts as long as the session; a cell has the limits of the request.  A lost
 * session costs its user more than a wait, so the grace is longer than that of a run. */
static void set_limits(struct session *s)
{
    struct limits *run = &s->request.limits;

    s->limits = *run;
    if (!(run->given & 1u << SBR_GRACE_MS))
        s->limits.value[SBR_GRACE_MS] = GRACE_MS;
    run->value[SBR_WALL_MS] = s->bounds.age_ms + AGE_SLACK_MS;
    run->value[SBR_CPU_MS] = run->value[SBR_OUTPUT_BYTES] = LIMIT_NONE;
}

static int set_up(struct session *s, sbr_error *err)
{
    set_limits(s);
    s->slot.watch.fd = -1;
    link_init(&s->snapshots);
    link_init(&s->copies);
    for (unsigned int i = 0; i < ARRAY_LEN(s->background); i++)
        head_tail_init(&s->background[i], 0, BACKGROUND_KEPT);
    link_init(&s->connections);
    if (loop_init_timers(&s->loop, "session", err) < 0 ||
        (!s->spare.waits && connection_listen(s, err) < 0))
        return err->code;
    if (!s->spare.waits)
        idle_begin_life(s);
    return runner_open(RUNNER_ONCE, false, &s->rt, err);
}

static void tell_error(int fd, const sbr_error *err)
{
    json_t *line = json_pack("{s:{s:i, s:s, s:s}}", "error", "code", err->code, "stage", err->stage,
                             "message", err->message);
    scoped_free char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    json_decref(line);
    if (text && fd >= 0)
        (void)!fd_write_all(fd, text, strlen(text));
}

static void supervise(struct session *s)
{
    int *fds[6] = { &s->dir.fd, &s->dir.lock_fd,
                    s->spare.waits ? &s->spare.engine.fd : &s->ready_fd };
    size_t n = 3;
    int ready_fd = s->ready_fd;
    sbr_error err = { 0 };

    if (s->spare.waits)
        fds[n++] = &s->spare.maker_fd;
    if (s->replay.files)
        fds[n++] = &s->replay.files->data_fd;
    for (size_t i = 0; i < 2 && s->image_fds[i] >= 0; i++)
        fds[n++] = &s->image_fds[i];
    setsid();
    reset_signals();
    if (leave_maker(fds, n) < 0) {
        err_set_errno(&err, "session", "cannot set up the session's process");
        tell_error(ready_fd, &err); /* its maker removes the directory */
        return;
    }
    if (s->ready_fd >= 0)
        (void)!write(s->ready_fd, "\n", 1); /* the first sign of life */
    spawn_forget_helpers();                 /* a maker that had run something has opened them */
    if (set_up(s, &err) < 0) {
        if (s->spare.waits) {
            session_dir_remove_spare(&s->dir);
            return;
        }
        tell_error(s->ready_fd, &err);
        (void)!session_dir_remove(&s->dir, &err);
        return;
    }
    directory_watch_start(s);
    end_signal_start(s);
    supervisor_run(s);
    sbr_runtime_close(s->rt);
}

/* The maker waits for the process between only, so that no child of its own is left to it. */
static int fork_twice(void (*run)(struct session *s), struct session *s, sbr_error *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return err_set_errno(err, "session", "cannot make a process for the session");
    if (pid == 0) {
        if (fork() == 0)
            run(s);
        _exit(0); /* lint-ok: _exit: the processes of a session are made here */
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return 0;
}

static void set_up_places(struct session *s)
{
    kernel_init_all(s);
    s->job_watch.fd = s->listen_watch.fd = -1;
}

static int fork_apart(struct session *s, sbr_error *err)
{
    set_up_places(s);
    return fork_twice(supervise, s, err);
}

static int check(const sbr_request *req, const struct language **ret, sbr_error *err)
{
    if (!req->language)
        return err_set(err, SBR_E_INVALID, "session",
                       "a session needs a language; name it with "
                       "--lang");
    if (language_resolve(req->language, ret, err) < 0)
        return err->code;
    if (!(*ret)->session.run.n)
        return err_set(err, SBR_E_UNSUPPORTED, "session",
                       "%s has no sessions; docs/sessions.md says which languages have",
                       (*ret)->name);
    return request_check(req, err);
}

static void copy_session(struct session *s, struct connection *c);
static void leave_spare(struct session *s);

static void end_kernel(struct kernel *k, const char *reason)
{
    struct session *s = k->session;
    sbr_error err = { 0 };

    if (!k->index) {
        supervisor_lose(s, reason);
        return;
    }
    second_kernel_end(k, reason, &err);
    if (s->cell && s->cell->kernel == k)
        cell_without_kernel(s, err.message);
}

static const struct session_hooks hooks = { operation_handle, kernel_words_handle, end_kernel,
                                            supervisor_lose,  supervisor_go_on,    cell_input_left,
                                            copy_session,     leave_spare,         spare_go_on };

/* Makes the directory and the process; *ret_fd is what the process will speak on. */
static int begin(struct session *s, int (*start)(struct session *s, sbr_error *err), int *ret_fd,
                 sbr_error *err)
{
    sbr_error ignored;
    int ready[2], r;

    if (session_dir_make(&s->dir, err) < 0)
        return err->code;
    if (pipe2(ready, O_CLOEXEC) < 0) {
        r = err_set_errno(err, "session", "cannot make a pipe");
    } else {
        s->ready_fd = ready[1];
        r = start(s, err);
        close(ready[1]);
        if (r < 0)
            close(ready[0]);
        else
            *ret_fd = ready[0];
    }
    session_dir_close(&s->dir);
    if (r < 0)
        (void)!session_dir_remove(&s->dir, &ignored);
    return r;
}

static int execute(struct session *s, sbr_error *err)
{
    return session_program_start(s, err);
}

int supervisor_main(void)
{
    struct session s = {
        .hooks = &hooks, .dir = SESSION_DIR_NONE, .ready_fd = -1, .image_fds = { -1, -1 }
    };
    sbr_error err = { 0 };

    if (session_program_take(&s, &err) < 0) {
        tell_error(s.ready_fd, &err);
        return 1;
    }
    set_up_places(&s);
    supervise(&s);
    return 0;
}

int supervisor_create(const sbr_request *req, const struct session_bounds *bounds, char **ret,
                      sbr_error *err)
{
    struct session s = { .hooks = &hooks,
                         .request = *req,
                         .bounds = *bounds,
                         .dir = SESSION_DIR_NONE,
                         .image_fds = { -1, -1 } };
    scoped_fd int fd = -1;
    sbr_error ignored;

    s.request.kernel = true;
    s.tells_changes = req->diff || req->keep;
    s.request.diff |= request_has_cow(req); /* `session diff` can ask at any time */
    if (check(req, &s.language, err) < 0)
        return err->code;
    spare_name_key(req, s.language, bounds, s.spare.key);
    if (spare_take(s.spare.key, req, bounds, ret))
        return 0;
    if (begin(&s, execute, &fd, err) < 0)
        return err->code;
    if (start_answer_await(fd, ret, err) < 0) /* its process ends without its directory */
        (void)!session_dir_remove(&s.dir, &ignored);
    return err->code;
}

static void end_copy(struct session_copy *copy)
{
    struct session *s = copy->session;

    link_remove(&copy->link);
    loop_close(&s->loop, &copy->watch);
    buf_done(&copy->said);
    loop_free_later(&s->loop, &copy->garbage);
}

static void copy_spoke(void *context, uint32_t events)
{
    struct session_copy *copy = context;
    char *to = buf_extend(&copy->said, START_ANSWER_MAX);
    sbr_error err = { 0 };
    json_t *answer;
    ssize_t n = to ? read(copy->watch.fd, to, START_ANSWER_MAX) : 0;

    (void)events;
    if (to)
        copy->said.len -= START_ANSWER_MAX - (size_t)(n > 0 ? n : 0);
    if (n > 0)
        return; /* its end is still to come */
    if (start_answer_read(copy->said.data, copy->said.len, &answer, &err) == 0) {
        json_object_set_new(answer, "of", json_string(copy->session->dir.id));
        if (copy->because[0] && json_object_get(answer, "because"))
            json_object_set_new(answer, "because", json_string(copy->because));
        connection_answer(copy->session, copy->client, answer);
    } else if (copy->client) {
        connection_error(copy->session, copy->client, &err);
    }
    if (copy->session->state == SESSION_READY)
        idle_begin(copy->session);
    end_copy(copy);
}

static int watch_copy(struct session *s, struct connection *c, int fd, sbr_error *err)
{
    struct session_copy *copy = calloc(1, sizeof(*copy));

    if (!copy) {
        close(fd);
        return err_set_oom(err, "session");
    }
    link_init(&copy->link);
    buf_init(&copy->said, 2 * START_ANSWER_MAX);
    copy->session = s;
    copy->client = c;
    copy->watch = loop_watch_of(fd, copy_spoke, copy);
    if (loop_add(&s->loop, &copy->watch, EPOLLIN) < 0) {
        close(fd);
        free(copy);
        return err_set_errno(err, "session", "cannot watch the copy of the session");
    }
    list_append(&s->copies, &copy->link);
    return 0;
}

/* The kernel's memory, or the cells.  Where files were too large to be saved, cells may make them
 * again. */
static int give_state(struct session *s, struct connection *c, struct session *made, sbr_error *err)
{
    const struct snapshot *files = made->replay.files;
    bool by_memory = files->whole && !files->left_out && memory_copy_ask(s, c);

    memcpy(made->image_fds, s->image_fds, sizeof(made->image_fds));
    if (!by_memory) {
        made->skips = true;
        made->replay.cells = replay_cells(s, s->cells + 1, err);
        return made->replay.cells ? 0 : err->code;
    }
    made->cells = s->cells;
    made->first_cell = s->first_cell;
    made->skips = s->skips;
    made->replay.history = session_dir_read(&s->dir, SESSION_CELLS);
    return 0;
}

/* In a sandbox that is there already, or in a new one. */
static int begin_somewhere(struct session *made, int *ret_fd, sbr_error *err)
{
    return spare_copy_give(made, ret_fd) ? 0 : begin(made, fork_apart, ret_fd, err);
}

/* A new process has the cells and the files from this one's memory. */
static int begin_copy(struct session *s, struct connection *c, sbr_error *err)
{
    struct session made = { .hooks = &hooks,
                            .request = s->request,
                            .bounds = s->bounds,
                            .language = s->language,
                            .tells_changes = s->tells_changes,
                            .dir = SESSION_DIR_NONE,
                            .replay = { .record = true } };
    int fd, r;

    memcpy(made.spare.key, s->spare.key, sizeof(made.spare.key));

    made.request.limits = s->limits;
    made.bounds.held = false; /* it outlives the prompt */
    if (s->opens) {
        made.request.network = *s->opens;
        made.spare.key[0] = '\0'; /* spare sessions have no network */
    }
    for (size_t i = 0; i < made.request.publish.n; i++)
        made.request.publish.rules[i].port = 0; /* this session has those ports */
    made.replay.files = snapshot_take(s, s->cells + 1, err);
    r = made.replay.files && give_state(s, c, &made, err) == 0 ? begin_somewhere(&made, &fd, err)
                                                               : err->code;
    snapshot_free(made.replay.files);
    json_decref(made.replay.cells);
    free(made.replay.history);
    return r < 0 ? r : watch_copy(s, c, fd, err);
}

static void copy_session(struct session *s, struct connection *c)
{
    sbr_error err = { 0 };
    size_t n = 0;

    list_each(at, &s->copies)
        n++;
    kernel_freeze(s, false);
    if (n >= COPIES_MAX)
        err_set(&err, SBR_E_BUSY, "session", "%d copies are being made; ask again", COPIES_MAX);
    if (err.code || begin_copy(s, c, &err) < 0)
        connection_error(s, c, &err);
    memory_copy_forget(s);
}

/* False: no further one is wanted, or it cannot be. */
static bool make_spare(const struct session *s)
{
    struct session made = { .hooks = &hooks,
                            .request = s->request,
                            .bounds = s->bounds,
                            .language = s->language,
                            .ready_fd = -1,
                            .image_fds = { -1, -1 },
                            .dir = SESSION_DIR_NONE };
    sbr_error ignored; /* the next one is made anew */
    scoped_fd int adopted = -1;

    if (spare_begin(s, &made, &adopted, &ignored) < 0)
        return false;
    made.request.limits = s->limits;
    if (fork_apart(&made, &ignored) < 0)
        session_dir_remove_spare(&made.dir);
    close(made.spare.maker_fd);
    close(made.spare.engine.fd);
    session_dir_close(&made.dir);
    return spare_await_adoption(adopted);
}

static void make_spares(struct session *s)
{
    const struct timespec quiet = { .tv_nsec = QUIET_NS };

    setsid();
    reset_signals();
    if (leave_maker(NULL, 0) < 0)
        return;
    do
        nanosleep(&quiet, NULL);
    while (make_spare(s));
}

/* The next session like this one finds its kernel ready.  A copy has cells, so it is none.
 *
 * All spares of a kind have one maker, a process that does nothing else.  If each were forked by
 * the one before it, the kernel would look through all its ancestors at every fork: with 200 of
 * them a session took 80 ms to be made instead of 3. */
static void leave_spare(struct session *s)
{
    sbr_error ignored; /* the next one is made anew */

    if (!s->spare.key[0] || spare_ask_next(s) || s->copied)
        return;
    (void)!fork_twice(make_spares, s, &ignored);
}
