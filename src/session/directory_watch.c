#include "session/directory_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_US 60000000 /* between two looks at the directory */

/* Without its socket no client would ever find the session again. */
static void look_for_socket(struct session *s)
{
    if (s->listen_watch.fd < 0 ||
        faccessat(s->dir.fd, SESSION_SOCKET, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    supervisor_lose(s, "the session's directory was removed");
    s->over = true;
}

static void directory_changed(void *context, uint32_t events)
{
    struct session *s = context;
    char buf[4096];

    (void)events;
    while (read(s->dir_watch.fd, buf, sizeof(buf)) > 0)
        continue;
    look_for_socket(s);
}

static void look_now_and_then(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    look_for_socket(s);
    loop_set_timer(&s->loop, TIMER_LOOK, clock_now_us() + LOOK_US, look_now_and_then, s);
}

/* A user has few inotify queues (128 by default), and may have more sessions: those look now and
 * then. */
void directory_watch_start(struct session *s)
{
    scoped_fd int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->dir.fd);
    s->dir_watch = loop_watch_of(fd, directory_changed, s);
    if (fd >= 0 && inotify_add_watch(fd, path, IN_DELETE) >= 0 &&
        loop_add(&s->loop, &s->dir_watch, EPOLLIN) == 0)
        (void)take_fd(fd);
    else
        look_now_and_then(s, 0);
}
