
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/zygote.h"
#include "worker/worker.h"

#define TRIAL_US 10000000ULL
#define LOOK_EVERY_NS 500000L
#define MAX_COMMAND 65536
#define MAX_WORDS 64

static bool await(pid_t pid, int code)
{
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
    const uint64_t end = clock_now_us() + TRIAL_US;
    int status = -1;
    pid_t r;

    while ((r = waitpid(pid, &status, WNOHANG)) == 0 && clock_now_us() < end)
        nanosleep(&pause, NULL);
    if (r == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
    }
    return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

int copies_try(bool sample, int code, bool (*renew)(void))
{
    pid_t pid = threads_fork();

    if (pid == 0) {
        if (sample)
            prefault_is_sample();
        if (own_fds_renew() < 0 || threads_resume() < 0 || (renew && !renew()))
            _exit(1); /* lint-ok: _exit: the child of a fork */
        return 0;
    }
    return pid > 0 && await(pid, code) ? 1 : -1;
}

bool copies_execute(const char *left_out)
{
    static char text[MAX_COMMAND];
    static char *words[MAX_WORDS];
    ssize_t len = fd_read_small(AT_FDCWD, "/proc/self/cmdline", text, sizeof(text));
    size_t n = 0;

    for (char *at = text; len > 0 && at < text + len && n < MAX_WORDS - 1; at += strlen(at) + 1)
        if (!left_out || strcmp(at, left_out) != 0)
            words[n++] = at;
    if (n < 2 || n == MAX_WORDS - 1)
        return false;
    words[n - 1] = NULL;
    worker_execute(words);
    return true;
}

void copies_serve(void)
{
    if (fd_write_all(ZYGOTE_WARM, "w", 1) < 0 || close(ZYGOTE_WARM) < 0)
        _exit(1); /* lint-ok: _exit: a zygote has nothing to tidy up */
    if (sbr_worker_next() < 0)
        _exit(0); /* lint-ok: _exit: a zygote has nothing to tidy up */
}

bool copies_differ(const void *numbers, size_t n)
{
    const char *const bytes = numbers;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (memcmp(bytes + i * sizeof(uint64_t), bytes + k * sizeof(uint64_t),
                       sizeof(uint64_t)) == 0)
                return false;
    return true;
}
