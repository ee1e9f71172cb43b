#include "job/engine_hello.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/engine_socket.h"
#include "sandbox/peer.h"

#define PATIENCE_MS 2000

bool engine_hello_is(struct engine_hello *hello, ssize_t len)
{
    if (len != (ssize_t)sizeof(*hello) || hello->mark != ENGINE_HELLO_MARK)
        return false;
    hello->release[sizeof(hello->release) - 1] = '\0';
    err_clean(hello->release);
    return true;
}

static void understand(struct engine_identity *who, struct engine_hello *hello, ssize_t len)
{
    if (!engine_hello_is(hello, len)) {
        who->kind = ENGINE_OF_OLD;
        return;
    }
    who->kind = hello->version == ENGINE_VERSION ? ENGINE_OF_OURS : ENGINE_OF_OTHER;
    who->version = hello->version;
    memcpy(who->release, hello->release, sizeof(who->release));
}

static void ask(int fd, struct engine_identity *who)
{
    static const uint32_t no_version = 0;
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    struct engine_hello hello = { 0 };
    ssize_t n = -1;
    int r = 1;

    if (send(fd, &no_version, sizeof(no_version), MSG_NOSIGNAL) >= 0)
        do
            r = poll(&ready, 1, PATIENCE_MS);
        while (r < 0 && errno == EINTR);
    if (r > 0)
        n = recv(fd, &hello, sizeof(hello), MSG_TRUNC);
    who->kind = ENGINE_HANGS;
    if (r > 0)
        understand(who, &hello, n);
}

/* Before Linux 6.5 the pidfd is opened by the pid, which is another process's if the engine has
 * ended meanwhile.  Then nobody listens any more, or one of another pid. */
static bool still_listens(const struct engine_identity *who)
{
    scoped_fd int fd = -1;

    return engine_connect(&fd) == 0 && peer_pid(fd) == who->pid;
}

static int no_engine(sbr_error *err)
{
    char path[ENGINE_PATH_SIZE];

    if (engine_socket_path(path, sizeof(path), err) < 0)
        return err->code;
    return err_set(err, SBR_E_NOT_FOUND, "engine",
                   "no engine is running at %s; `sandbox-run serve` starts one", path);
}

int engine_hello(struct engine_identity *ret, sbr_error *err)
{
    scoped_fd int fd = -1, pidfd = -1;

    if (engine_connect(&fd) < 0)
        return no_engine(err);
    *ret = (struct engine_identity){ .pid = peer_pid(fd) };
    pidfd = peer_open(fd, ret->pid);
    if (pidfd < 0)
        return err_set_errno(err, "engine", "cannot find the engine's process");
    ask(fd, ret);
    if (!still_listens(ret))
        return no_engine(err);
    ret->pidfd = take_fd(pidfd);
    return 0;
}

void engine_hello_describe(const struct engine_identity *who, char *text, size_t size)
{
    if (who->kind == ENGINE_OF_OTHER)
        snprintf(text, size,
                 "the engine, process %d, is of version %s and speaks protocol %u, not %u",
                 (int)who->pid, who->release, who->version, ENGINE_VERSION);
    else if (who->kind == ENGINE_OF_OLD)
        snprintf(text, size, "the engine, process %d, is of another version than this program",
                 (int)who->pid);
    else
        snprintf(text, size, "the engine, process %d, does not answer", (int)who->pid);
}
