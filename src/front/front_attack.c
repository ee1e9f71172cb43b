/* Only in builds for tests: what an attacker who has taken this process over would try next.
 *
 * The header `X-Attack: PATH` names a file that the gateway's user can read.  The reply has a line
 * for each attempt: its name, and the error of the system, 0 when it succeeded. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "front/front_internal.h"

#define ATTEMPTS_TEXT 1024

static int try_read(const char *path)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : 0;
}

static int try_write(const char *path)
{
    scoped_fd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    return fd < 0 ? -1 : 0;
}

/* A child, because a program in this process's place could not report. */
static int try_exec(const char *path)
{
    int status = 0;
    pid_t pid = fork();

    (void)path;
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || status ? -1 : 0;
}

static int try_exec_here(const char *path)
{
    char *const none[] = { NULL };

    (void)execve(path, none, none); /* the file is no program: EACCES says that the call is there */
    return errno == EACCES ? 0 : -1;
}

static int try_trace(const char *path)
{
    (void)path;
    if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) < 0)
        return -1;
    (void)kill(getppid(), SIGCONT);
    return ptrace(PTRACE_DETACH, getppid(), NULL, NULL) < 0 && errno != ESRCH ? -1 : 0;
}

static int try_signal(const char *path)
{
    (void)path;
    return kill(getppid(), 0);
}

static int try_internet(const char *path)
{
    scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)path;
    return fd < 0 ? -1 : 0;
}

static int try_local_socket(const char *path)
{
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)path;
    return fd < 0 ? -1 : 0;
}

static int try_code(const char *path)
{
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)path;
    return page == MAP_FAILED ? -1 : munmap(page, 4096);
}

static int try_namespace(const char *path)
{
    (void)path;
    return unshare(CLONE_NEWUTS | (geteuid() ? CLONE_NEWUSER : 0));
}

static const struct {
    const char *name;
    int (*attempt)(const char *path);
} attempts[] = {
    { "read", try_read },           { "write", try_write },        { "exec", try_exec },
    { "exec-here", try_exec_here }, { "trace", try_trace },        { "signal", try_signal },
    { "internet", try_internet },   { "local", try_local_socket }, { "code", try_code },
    { "namespace", try_namespace },
};

struct MHD_Response *front_attack_try(struct MHD_Connection *connection)
{
    const char *path = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Attack");
    struct buf said;
    struct MHD_Response *response;

    if (!path)
        return NULL;
    buf_init(&said, ATTEMPTS_TEXT);
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        errno = 0;
        buf_printf(&said, "%s %d\n", attempts[i].name, attempts[i].attempt(path) < 0 ? errno : 0);
    }
    response = MHD_create_response_from_buffer(said.len, said.data, MHD_RESPMEM_MUST_COPY);
    buf_done(&said);
    return response;
}
