#include "job/way_to_volume.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

#define MAX_DEPTH 1000 /* bounds the walk while a program moves directories */
#define MAX_LINKS 40   /* as in the kernel */

struct walk {
    const struct stat *top;
    struct way way;
    int n_links;
    char rest[2 * PATH_MAX]; /* names that are left to look up */
};

bool way_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool way_is_below(int dir_fd, const struct stat *top)
{
    scoped_fd int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat at, above;

    if (fd < 0 || fstat(fd, &at) < 0)
        return true;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        int parent;

        if (way_is_same(&at, top))
            return true;
        parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
            return true;
        close(fd);
        fd = parent;
        if (fstat(fd, &above) < 0)
            return true;
        if (way_is_same(&above, &at))
            return false; /* the root is above itself */
        at = above;
    }
    return true;
}

static void go_to(struct walk *w, int fd)
{
    scope_close_fd(&w->way.fd);
    w->way.fd = fd;
}

/* Cuts the next name off; false when none is left. */
static bool next_name(struct walk *w, char name[NAME_MAX + 1])
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t len = strcspn(from, "/");

    if (!len || len > NAME_MAX) {
        w->way.whole = !len;
        return false;
    }
    memcpy(name, from, len);
    name[len] = '\0';
    memmove(w->rest, from + len, strlen(from + len) + 1);
    return true;
}

/* Puts the target of the link before the names that are left. */
static bool follow(struct walk *w, int link_fd)
{
    char target[PATH_MAX], rest[sizeof(w->rest)];
    ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);
    int len;

    if (n <= 0 || ++w->n_links > MAX_LINKS)
        return false;
    target[n] = '\0';
    len = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
    if (len < 0 || (size_t)len >= sizeof(rest))
        return false;
    memcpy(w->rest, rest, (size_t)len + 1);
    if (target[0] == '/')
        go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return w->way.fd >= 0;
}

/* False where the way ends. */
static bool step(struct walk *w)
{
    char name[NAME_MAX + 1];
    scoped_fd int fd = -1;
    struct stat st;

    if (!next_name(w, name))
        return false;
    w->way.crosses |= way_is_below(w->way.fd, w->top);
    fd = openat(w->way.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (S_ISLNK(st.st_mode))
        return follow(w, fd);
    if (S_ISDIR(st.st_mode)) {
        go_to(w, take_fd(fd));
        return true;
    }
    w->way.crosses |= way_is_same(&st, w->top);
    return false;
}

struct way way_walk(const char *path, const struct stat *top)
{
    struct walk w = { .top = top, .way.fd = -1 };
    int len = snprintf(w.rest, sizeof(w.rest), "%s", path);

    if (len < 0 || (size_t)len >= sizeof(w.rest)) {
        errno = ENAMETOOLONG;
        return w.way;
    }
    go_to(&w, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (w.way.fd >= 0 && step(&w))
        ;
    return w.way;
}
