#include "cli/cmd_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/text.h"

#define CHANGES                                                                                    \
    (IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |           \
     IN_DONT_FOLLOW)
#define QUIET_MS 100 /* editors write in several steps */
#define MOST_DEPTH 64

static bool is_left_out(const char *name)
{
    static const char *const names[] = { "node_modules", "__pycache__", "target" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return name[0] == '.';
}

static int add(int fd, const char *dir, unsigned int depth, sbr_error *err)
{
    scoped_listing struct listing list = { 0 };

    if (inotify_add_watch(fd, dir, CHANGES) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : err_set_errno(err, "watch",
                                   "cannot watch '%.200s'; fs.inotify.max_user_watches of "
                                   "sysctl bounds the number of directories",
                                   dir);
    if (depth == MOST_DEPTH || listing_read_at(AT_FDCWD, dir, &list) < 0)
        return 0; /* it went away, or is deeper than any project */
    for (size_t i = 0; i < list.n; i++) {
        scoped_free char *path = NULL;

        if (listing_type(&list, i) != DT_DIR || is_left_out(list.names[i]))
            continue;
        path = text_format("%s/%s", dir, list.names[i]);
        if (!path)
            return err_set_oom(err, "watch");
        if (add(fd, path, depth + 1, err) < 0)
            return err->code;
    }
    return 0;
}

int tree_watch_open(const char *dir, int *ret, sbr_error *err)
{
    scoped_fd int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        return err_set_errno(err, "watch", "cannot watch files");
    if (add(fd, dir, 0, err) < 0)
        return err->code;
    *ret = take_fd(fd);
    return 0;
}

int tree_watch_wait(int fd, int stop_fd)
{
    struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };
    char events[4096];
    bool changed = false;

    for (;;) {
        int n = poll(fds, 2, changed ? QUIET_MS : -1);

        if (n < 0 && errno != EINTR)
            return 0;
        if (n == 0)
            return 1;
        if (n > 0 && fds[1].revents)
            return 0;
        while (read(fd, events, sizeof(events)) > 0)
            changed = true;
    }
}
