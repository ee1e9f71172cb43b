/* Only in builds for tests: what an attacker who has taken this process over would try next.
 *
 * The header `X-Attack: PATH` names a file that the gateway's user can read.  The reply has a line
 * for each attempt: its name, and the error of the system, 0 when it succeeded.
 *
 * The header `X-Frames: WORD...` has frames for the gateway: COUNT:BASE64:ZEROS is sent COUNT
 * times with ZEROS bytes behind it, and `?` waits for an answer.  The reply has a line for each
 * answer: type and status, or `end`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/encoding.h"
#include "front/front_internal.h"

#define ATTEMPTS_TEXT 1024
#define ANSWER_MS 10000

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

/* Where it succeeds the gateway goes on: it is let go only once it has stopped. */
static int try_trace(const char *path)
{
    (void)path;
    if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) < 0)
        return -1;
    if (ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL) == 0)
        (void)waitpid(getppid(), NULL, __WALL);
    return (int)ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
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

static void try_all(const char *path, struct buf *said)
{
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        errno = 0;
        buf_printf(said, "%s %d\n", attempts[i].name, attempts[i].attempt(path) < 0 ? errno : 0);
    }
}

static bool wait_for(int fd, short events)
{
    struct pollfd channel = { .fd = fd, .events = events };

    return poll(&channel, 1, ANSWER_MS) == 1;
}

/* False: none came, so that waiting for the next one is of no use. */
static bool wait_for_answer(int fd, struct buf *said)
{
    struct front_head head;
    ssize_t n = wait_for(fd, POLLIN) ? recv(fd, &head, sizeof(head), MSG_DONTWAIT) : -1;

    if (n == (ssize_t)sizeof(head))
        buf_printf(said, "%d %d\n", head.type, head.status);
    else
        buf_printf(said, "%s\n", n == 0 || errno == ECONNRESET ? "end" : "nothing");
    return n == (ssize_t)sizeof(head);
}

/* False: the word is none, or the gateway takes nothing any more. */
static bool send_frames(int fd, char *word)
{
    unsigned long count = strtoul(strsep(&word, ":"), NULL, 10);
    const char *text = strsep(&word, ":");
    size_t len = 0, zeros = word ? strtoul(word, NULL, 10) : 0;
    scoped_free char *data = NULL, *frame = NULL;

    if (!text || encoding_from_base64(text, &data, &len) < 0)
        return false;
    frame = calloc(1, len + zeros + 1);
    if (!frame)
        return false;
    memcpy(frame, data, len);
    while (count-- && wait_for(fd, POLLOUT))
        if (send(fd, frame, len + zeros, MSG_NOSIGNAL) < 0)
            return false;
    return true;
}

static void send_words(int fd, const char *words, struct buf *said)
{
    scoped_free char *text = strdup(words);
    char *rest = text;

    for (char *word; rest && (word = strsep(&rest, " "));)
        if (strcmp(word, "?") != 0)
            (void)!send_frames(fd, word);
        else if (!wait_for_answer(fd, said))
            return;
}

struct MHD_Response *front_attack_try(const struct front_client *c)
{
    const char *path = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "X-Attack");
    const char *words = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "X-Frames");
    struct MHD_Response *response;
    struct buf said;

    if (!path && !words)
        return NULL;
    buf_init(&said, ATTEMPTS_TEXT);
    if (path)
        try_all(path, &said);
    else
        send_words(c->channel.fd, words, &said);
    response = MHD_create_response_from_buffer(said.len, said.data, MHD_RESPMEM_MUST_COPY);
    buf_done(&said);
    return response;
}
