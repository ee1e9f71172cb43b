#include "session/session_program.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int wake_fd = -1; /* one session in each process */

static void on_signal(int number)
{
    int before = errno;
    uint64_t one = 1;

    (void)number;
    (void)!write(wake_fd, &one, sizeof(one));
    errno = before;
}

static void end_now(void *context, uint32_t events)
{
    struct session *s = context;
    json_t *ignored = json_object(); /* nobody asked */

    (void)events;
    loop_remove(&s->loop, &s->end_watch);
    supervisor_close(s, "its process was ended by SIGTERM", ignored);
    json_decref(ignored);
    s->over = true;
}

/* Without it the signal ends the process at once, and the kernel everything inside. */
void end_signal_start(struct session *s)
{
    struct sigaction action = { .sa_handler = on_signal };
    scoped_fd int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    s->end_watch = loop_watch_of(fd, end_now, s);
    if (fd < 0 || loop_add(&s->loop, &s->end_watch, EPOLLIN) < 0)
        return;
    wake_fd = take_fd(fd);
    (void)sigaction(SIGTERM, &action, NULL);
}
