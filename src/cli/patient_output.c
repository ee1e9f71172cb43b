#include "cli/patient_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

/* A pipe is opened again, because others share the flags of the one that we have; -1: not so. */
static int open_pipe(void)
{
    struct stat st;

    if (fstat(STDOUT_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode))
        return -1;
    return fd_open_again(STDOUT_FILENO, O_WRONLY | O_NONBLOCK);
}

static ssize_t write_some(int pipe_fd, const char *data, size_t len)
{
    ssize_t n;

    if (pipe_fd >= 0)
        return write(pipe_fd, data, len);
    n = send(STDOUT_FILENO, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 && errno == ENOTSOCK ? write(STDOUT_FILENO, data, len) : n;
}

static void wait_for_reader(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
    struct pollfd reader = { .fd = STDOUT_FILENO, .events = POLLOUT };
    sigset_t mask;

    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigdelset(&mask, numbers[i]);
    (void)ppoll(&reader, 1, NULL, &mask);
}

int patient_output_write(const char *data, size_t len)
{
    static int pipe_fd = -2; /* not tried yet */

    if (pipe_fd == -2)
        pipe_fd = open_pipe();
    while (len) {
        ssize_t n = write_some(pipe_fd, data, len);

        if (n < 0 && errno == EAGAIN)
            wait_for_reader();
        else if (n < 0 && errno != EINTR)
            return -1;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}
