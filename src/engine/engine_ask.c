/* The only request that needs no lease: the engine's status. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "engine/engine_main.h"
#include "job/engine_socket.h"
#include "wire/engine.h"

#define PATIENCE_MS 5000
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

int engine_status(char **ret_json, sbr_error *err)
{
    const struct engine_request request = { .version = ENGINE_VERSION, .ask = ENGINE_STATUS };
    scoped_fd int fd = -1, memory = -1;
    char path[ENGINE_PATH_SIZE];
    size_t len;

    if (engine_socket_path(path, sizeof(path), err) < 0)
        return err->code;
    if (engine_connect(&fd) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "engine",
                       "no engine is running at %s; `sandbox-run serve` starts one", path);
    if (fd_send(fd, &request, sizeof(request), NULL, 0) < 0)
        return no_answer(err);
    if (receive(fd, &memory, err) < 0)
        return err->code;
    if (lseek(memory, 0, SEEK_SET) < 0)
        return err_set_errno(err, "engine", "cannot read the engine's answer");
    return fd_read_text(memory, STATUS_MAX, ret_json, &len, err);
}
