#include "base/signal_fd.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static sigset_t pipe_only(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void sigpipe_block(struct sigpipe *guard)
{
    sigset_t set = pipe_only(), pending;

    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set, &guard->before);
}

void sigpipe_restore(const struct sigpipe *guard)
{
    static const struct timespec now = { 0 };
    sigset_t set = pipe_only(), pending;
    int saved = errno;

    sigpending(&pending);
    if (!guard->was_pending && sigismember(&pending, SIGPIPE) == 1)
        while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = saved;
}
