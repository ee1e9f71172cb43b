#include "cli/preparation.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_FILES = 16 }; /* language files; a run with more of them prepares nothing */

/* Neither the caller's terminal nor one of its pipes: a reader would wait for their end. */
static void leave_caller(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)!nice(10);
}

static _Noreturn void start_other(const char *const argv[])
{
    if (setsid() < 0 || fork() != 0)
        _exit(0);
    leave_caller();
    execv("/proc/self/exe", (char *const *)argv);
    _exit(1);
}

bool preparation_begin(const struct options *o)
{
    const char *argv[5 + 2 * MAX_FILES] = { "sandbox-run", "languages", o->request->language,
                                            "--prepare" };
    size_t n = 4;
    pid_t child;

    if (getenv(PREPARATION_NONE_ENV) || o->language_files.n > MAX_FILES)
        return false;
    for (size_t i = 0; i < o->language_files.n; i++) {
        argv[n++] = "--language-file";
        argv[n++] = o->language_files.items[i];
    }
    child = fork();
    if (child == 0)
        start_other(argv);
    return child > 0 && waitpid(child, NULL, 0) == child;
}
