#include "cli/background.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Neither the caller's terminal nor one of its pipes: a reader would wait for their end. */
static void leave_caller(void)
{
    sigset_t none;

    (void)syscall(SYS_close_range, 0u, ~0u, 0u);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        /* NOLINTNEXTLINE(android-cloexec-open): the streams, which a helper inherits */
        (void)!open("/dev/null", O_RDWR); /* cppcheck-suppress leakReturnValNotUsed */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpriority(PRIO_PROCESS, 0, 19);
}

enum background background_begin(void)
{
    pid_t child = getenv(BACKGROUND_NONE_ENV) ? -1 : fork();

    if (child < 0)
        return BACKGROUND_NONE;
    if (child > 0)
        return waitpid(child, NULL, 0) == child ? BACKGROUND_STARTED : BACKGROUND_NONE;
    if (setsid() < 0 || fork() != 0)
        _exit(0);
    leave_caller();
    return BACKGROUND_HERE;
}
