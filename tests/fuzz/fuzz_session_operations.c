/* Lines that a client writes to a session's socket: everything that starts no process.  The first
 * byte is the state of the session. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/tree_remove.h"
#include "fuzz.h"
#include "plan/language.h"
#include "session/supervisor.h"

static char top[] = "/tmp/fuzz-session-XXXXXX";
static int work_fd = -1;

/* The run's side is here (see --wrap in meson.build). */
int __wrap_runner_open_top(sbr_job *job, const char *name, unsigned int *uid, unsigned int *gid);
void __wrap_supervisor_restart(struct session *s, struct connection *c, json_t *take_cells);
void __wrap_supervisor_go_on(struct session *s);

int __wrap_runner_open_top(sbr_job *job, const char *name, unsigned int *uid, unsigned int *gid)
{
    (void)job;
    (void)name;
    *uid = geteuid();
    *gid = getegid();
    return dup(work_fd);
}

void __wrap_supervisor_restart(struct session *s, struct connection *c, json_t *take_cells)
{
    json_decref(take_cells);
    connection_answer(s, c, json_pack("{s:b}", "restarted", 1));
}

void __wrap_supervisor_go_on(struct session *s)
{
    (void)s; /* cells wait */
}

static void copy(struct session *s, struct connection *c)
{
    connection_answer(s, c, json_pack("{s:b}", "copied", 1));
}

static void end_kernel(struct kernel *k, const char *reason)
{
    FUZZ_ASSERT(k && reason);
}

static void lose(struct session *s, const char *reason)
{
    FUZZ_ASSERT(reason);
    s->state = SESSION_LOST;
}

/* Without those that end the session or start something. */
static void line_came(struct session *s, struct connection *c, const char *line, size_t len)
{
    static const char *const left_out[] = { "close", "dep",     "kernel", "adopt",
                                            "diff",  "applied", "allow",  "metrics" };
    json_t *request = json_read(line, len, &json_read_document, 0, "the line", NULL);
    const char *op = json_string_value(json_object_get(request, "op"));
    bool skips = false;

    for (size_t i = 0; op && i < sizeof(left_out) / sizeof(*left_out); i++)
        skips |= !strcmp(op, left_out[i]);
    json_decref(request);
    if (!skips)
        operation_handle(s, c, line, len);
}

static const struct session_hooks hooks = {
    .line = line_came, .end_kernel = end_kernel, .lose = lose, .copy = copy
};

static void remove_top(void)
{
    (void)tree_remove(AT_FDCWD, top);
}

static void make_top(void)
{
    char work[64];

    if (work_fd >= 0)
        return;
    FUZZ_ASSERT(mkdtemp(top));
    atexit(remove_top);
    snprintf(work, sizeof(work), "%s/work", top);
    FUZZ_ASSERT(mkdir(work, 0700) == 0);
    work_fd = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(work_fd >= 0);
}

static int connect_client(const struct session *s)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SESSION_SOCKET,
             s->dir.fd);
    FUZZ_ASSERT(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

/* Every answer is a line of JSON. */
static void check_answers(const struct buf *said)
{
    const char *at = said->len ? said->data : "", *end = at + said->len, *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        json_t *answer = json_loadb(at, (size_t)(newline - at), JSON_ALLOW_NUL, NULL);

        FUZZ_ASSERT(json_is_object(answer));
        json_decref(answer);
        at = newline + 1;
    }
}

static void serve(struct session *s, int client, int kernel)
{
    static char data[65536];
    unsigned int turns = 0;
    struct buf said;
    ssize_t n;

    buf_init(&said, SIZE_MAX / 2);
    while (loop_turn(&s->loop, 0) > 0) {
        FUZZ_ASSERT(++turns < 10000); /* it waits when there is nothing to do */
        while ((n = recv(client, data, sizeof(data), MSG_DONTWAIT)) > 0)
            buf_add(&said, data, (size_t)n);
        while (recv(kernel, data, sizeof(data), MSG_DONTWAIT) > 0)
            ;
    }
    check_answers(&said);
    buf_done(&said);
}

static void begin(struct session *s, unsigned int choice, int ends[2])
{
    sbr_error err;

    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < N_LIMITS; i++)
        s->limits.value[i] = s->request.limits.value[i] = LIMIT_NONE;
    FUZZ_ASSERT(loop_init_timers(&s->loop, "fuzz", &err) == 0);
    s->hooks = &hooks;
    s->language = language_find("python");
    s->state = choice % N_SESSION_STATES;
    s->asks = choice & 4;
    s->cells = choice >> 3;
    s->listen_watch.fd = s->slot.watch.fd = s->spare.engine.fd = s->ready_fd = -1;
    s->image_fds[0] = s->image_fds[1] = -1;
    s->dir = (struct session_dir){ .id = "0123456789ab", .lock_fd = -1 };
    s->dir.fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    link_init(&s->connections);
    link_init(&s->copies);
    link_init(&s->snapshots);
    kernel_init_all(s);
    s->kernels[0].language = s->language;
    s->kernels[0].hello = json_pack("{s:[s, s, s, s, s]}", "can", "check", "complete", "vars",
                                    "checkpoint", "reload");
    FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    kernel_channel_open(&s->kernels[0], ends[0]);
    FUZZ_ASSERT(connection_listen(s, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session s;
    int client, kernel[2];

    if (!size)
        return 0;
    make_top();
    begin(&s, data[0], kernel);
    client = connect_client(&s);
    (void)!send(client, data + 1, size - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    serve(&s, client, kernel[1]);
    close(client);
    close(kernel[0]); /* a job's, of which there is none */
    close(kernel[1]);
    connection_close_all(&s);
    for (size_t i = 0; i < KERNELS_MAX; i++)
        kernel_channel_close(&s.kernels[i]);
    json_decref(s.kernels[0].hello);
    loop_done(&s.loop);
    close(s.dir.fd);
    return 0;
}
