#include "cli/docker_detach.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"

#define LOOK_MS 20
#define BEGIN_MS 60000
#define SAID_MAX 4096
#define STATUS_OURS 125

void docker_detach_prepare(struct docker_run *run)
{
    static char name[24];
    uint64_t chance = clock_now_us();

    run->interactive = run->tty = false;
    if (run->name)
        return;
    (void)!getrandom(&chance, sizeof(chance), 0);
    snprintf(name, sizeof(name), "r%012" PRIx64, chance & UINT64_C(0xffffffffffff));
    run->name = name;
}

/* Without the caller's streams, in a session of its own: Ctrl-C there is not for it. */
static void leave_caller(int said)
{
    int none = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    (void)dup2(none, STDIN_FILENO);
    (void)dup2(none, STDOUT_FILENO);
    (void)dup2(said, STDERR_FILENO);
}

static int say_why(int said, int status)
{
    char text[SAID_MAX];
    ssize_t n = pread(said, text, sizeof(text), 0);

    if (n > 0)
        (void)!fd_write_all(STDERR_FILENO, text, (size_t)n);
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OURS;
}

int docker_detach(const struct docker_run *run, struct string_list *words,
                  int (*start)(const struct docker_run *run, struct string_list *words,
                               sbr_error *err),
                  bool (*has_begun)(const char *name), sbr_error *err)
{
    scoped_fd int said = memfd_create("said", MFD_CLOEXEC);
    uint64_t end_us = clock_now_us() + BEGIN_MS * UINT64_C(1000);
    int status = 0;
    pid_t child;

    (void)fflush(NULL);
    child = said < 0 ? -1 : fork();
    if (child < 0)
        return err_set_errno(err, "docker", "cannot start the run");
    if (child == 0) {
        leave_caller(said);
        return start(run, words, err); /* the caller says why, to whom waits for it */
    }
    while (!has_begun(run->name) && clock_now_us() < end_us) {
        if (waitpid(child, &status, WNOHANG) == child && !has_begun(run->name))
            return say_why(said, status);
        (void)poll(NULL, 0, LOOK_MS);
    }
    puts(run->name);
    return 0;
}
