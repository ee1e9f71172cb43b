/* What needs no lease: the engine's status, and its end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "engine/engine_main.h"
#include "job/engine_socket.h"
#include "wire/engine.h"

#define PATIENCE_MS 5000
#define STOP_PATIENCE_MS 45000 /* longer than the engine lets runs finish */
#define STATUS_MAX (16u << 20)

static int no_answer(sbr_error *err)
{
    return err_set(err, SBR_E_SYSTEM, "engine",
                   "the engine does not answer, or is of another version");
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
    char path[ENGINE_PATH_SIZE];

    if (engine_socket_path(path, sizeof(path), err) < 0)
        return err->code;
    if (engine_connect(ret_fd) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "engine",
                       "no engine is running at %s; `sandbox-run serve` starts one", path);
    return 0;
}

static int ask_status(int fd, int *ret_memory, sbr_error *err)
{
    const struct engine_request request = { .version = ENGINE_VERSION, .ask = ENGINE_STATUS };

    if (fd_send(fd, &request, sizeof(request), NULL, 0) < 0)
        return no_answer(err);
    return receive(fd, ret_memory, err);
}

/* The process at the other end.  It answers after its pidfd was opened, so the pid was not that of
 * a process that had ended. */
static int open_process(int fd, int *ret_pidfd, sbr_error *err)
{
    scoped_fd int memory = -1, pidfd = -1;
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
        return err_set_errno(err, "engine", "cannot find the engine's process");
    pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
    if (pidfd < 0)
        return err_set_errno(err, "engine", "cannot find the engine's process");
    if (ask_status(fd, &memory, err) < 0)
        return err->code;
    *ret_pidfd = take_fd(pidfd);
    return 0;
}

int engine_stop(sbr_error *err)
{
    scoped_fd int fd = -1, pidfd = -1;
    struct pollfd ended = { .events = POLLIN };
    int r;

    if (find_engine(&fd, err) < 0 || open_process(fd, &pidfd, err) < 0)
        return err->code;
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0)
        return err_set_errno(err, "engine", "cannot end the engine");
    ended.fd = pidfd;
    do
        r = poll(&ended, 1, STOP_PATIENCE_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return err_set(
            err, SBR_E_BUSY, "engine",
            "the engine has not ended yet; `sandbox-run serve --stop` again ends its runs "
            "at once");
    return 0;
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
