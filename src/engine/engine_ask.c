/* What needs no lease: the engine's status, and its end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/engine_main.h"
#include "job/engine_hello.h"
#include "job/engine_socket.h"
#include "wire/engine.h"

#define PATIENCE_MS 5000
#define STOP_PATIENCE_MS 45000 /* longer than the engine lets runs finish */
#define STATUS_MAX (16u << 20)

/* Whatever went wrong, the reason is who listens there. */
static int no_answer(sbr_error *err)
{
    struct engine_identity who = { .pidfd = -1 };
    char text[200];

    if (engine_hello(&who, err) < 0)
        return err->code;
    close(who.pidfd);
    if (who.kind == ENGINE_OF_OURS)
        return err_set(err, SBR_E_BUSY, "engine",
                       "the engine, process %d, has no answer now; try again", (int)who.pid);
    engine_hello_describe(&who, text, sizeof(text));
    if (who.kind == ENGINE_HANGS)
        return err_set(err, SBR_E_SYSTEM, "engine", "%s; `kill -9 %d` ends it", text, (int)who.pid);
    return err_set(err, SBR_E_UNSUPPORTED, "engine",
                   "%s, so runs start cold; `sandbox-run serve --stop` ends it", text);
}

/* Returns the first fd of the reply and closes any others. */
static int receive(int fd, int *ret, sbr_error *err)
{
    struct engine_reply reply = { 0 };
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    int fds[FD_MAX_PASSED];
    size_t n = 0;
    ssize_t len;
    int r;

    do
        r = poll(&ready, 1, PATIENCE_MS);
    while (r < 0 && errno == EINTR);
    len = r > 0 ? fd_receive(fd, &reply, sizeof(reply), fds, &n) : -1;
    while (n > 1)
        close(fds[--n]);
    if (len == (ssize_t)sizeof(reply) && reply.version == ENGINE_VERSION &&
        reply.answer == ENGINE_STATE && n) {
        *ret = fds[0];
        return 0;
    }
    if (n)
        close(fds[0]);
    return no_answer(err);
}

static int find_engine(int *ret_fd, sbr_error *err)
{
    return engine_connect(ret_fd) == 0 ? 0 : no_answer(err);
}

static int ask_status(int fd, int *ret_memory, sbr_error *err)
{
    const struct engine_request request = { .version = ENGINE_VERSION, .ask = ENGINE_STATUS };

    if (fd_send(fd, &request, sizeof(request), NULL, 0) < 0)
        return no_answer(err);
    return receive(fd, ret_memory, err);
}

static int await_end(const struct engine_identity *who, sbr_error *err)
{
    struct pollfd ended = { .fd = who->pidfd, .events = POLLIN };
    int r;

    do
        r = poll(&ended, 1, STOP_PATIENCE_MS);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        return 0;
    return err_set(err, SBR_E_BUSY, "engine",
                   "the engine, process %d, has not ended yet; `kill %d` ends its runs at once",
                   (int)who->pid, (int)who->pid);
}

/* An engine of any version ends by SIGTERM; one that hangs does not. */
int engine_stop(sbr_error *err)
{
    struct engine_identity who = { .pidfd = -1 };
    scoped_fd int pidfd = -1;

    if (engine_hello(&who, err) < 0)
        return err->code;
    pidfd = who.pidfd;
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0)
        return err_set_errno(err, "engine", "cannot end the engine, process %d", (int)who.pid);
    if (who.kind == ENGINE_HANGS)
        return err_set(err, SBR_E_SYSTEM, "engine",
                       "the engine, process %d, does not answer; it was asked to end, and `kill -9 "
                       "%d` ends it at once",
                       (int)who.pid, (int)who.pid);
    return await_end(&who, err);
}

int engine_status(char **ret_json, sbr_error *err)
{
    scoped_fd int fd = -1, memory = -1;
    size_t len;

    if (find_engine(&fd, err) < 0 || ask_status(fd, &memory, err) < 0)
        return err->code;
    if (lseek(memory, 0, SEEK_SET) < 0)
        return err_set_errno(err, "engine", "cannot read the engine's answer");
    return fd_read_text(memory, STATUS_MAX, ret_json, &len, err);
}
