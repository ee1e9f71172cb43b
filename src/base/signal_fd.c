#include "base/signal_fd.h"

#include <sys/signalfd.h>

int signal_fd_open(const int *numbers, size_t n)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    for (size_t i = 0; i < n; i++)
        sigaddset(&wanted, numbers[i]);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}
