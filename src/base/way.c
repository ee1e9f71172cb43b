#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

#define MAX_DEPTH 1000 /* bounds the walk while a program moves directories */
#define MAX_LINKS 40   /* as in the kernel */

struct walk {
    const struct way_rules *rules;
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
static bool next_name(struct walk *w)
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t len = strcspn(from, "/");

    w->way.name[0] = '\0';
    if (!len || len > NAME_MAX) {
        w->way.whole = !len;
        w->way.error = len ? ENAMETOOLONG : 0;
        return false;
    }
    memcpy(w->way.name, from, len);
    w->way.name[len] = '\0';
    memmove(w->rest, from + len, strlen(from + len) + 1);
    w->way.last = !w->rest[strspn(w->rest, "/")];
    return true;
}

static bool stop(struct walk *w, int error)
{
    w->way.error = error;
    return false;
}

/* Puts the target of the link before the names that are left. */
static bool follow(struct walk *w, int link_fd)
{
    char target[PATH_MAX], rest[sizeof(w->rest)];
    ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);
    int len;

    if (n <= 0 || ++w->n_links > MAX_LINKS)
        return stop(w, ELOOP);
    target[n] = '\0';
    len = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
    if (len < 0 || (size_t)len >= sizeof(rest))
        return stop(w, ENAMETOOLONG);
    memcpy(w->rest, rest, (size_t)len + 1);
    if (target[0] == '/')
        go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return w->way.fd >= 0;
}

/* Whether the directory that is looked into lies in one of the trees. */
static bool is_in_tree(struct walk *w)
{
    bool in = false;

    for (size_t i = 0; i < w->rules->n_trees; i++) {
        if (!way_is_below(w->way.fd, &w->rules->trees[i].st))
            continue;
        in = true;
        w->way.crosses |= w->rules->trees[i].written;
    }
    return in;
}

/* A third user owns the directory, or may put a name of their own there. */
static bool is_foreign(int dir_fd, const struct stat *entry)
{
    uid_t own = geteuid();
    struct stat dir;

    if (fstat(dir_fd, &dir) < 0 || (dir.st_uid != 0 && dir.st_uid != own))
        return true;
    if (!(dir.st_mode & S_IWOTH))
        return false;
    return !(dir.st_mode & S_ISVTX) || (entry && entry->st_uid != 0 && entry->st_uid != own);
}

static int look(struct walk *w, struct stat *st)
{
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    scoped_fd int fd = openat(w->way.fd, w->way.name, flags);

    if (fd < 0 && errno == ENOENT && w->rules->make &&
        (mkdirat(w->way.fd, w->way.name, 0777) == 0 || errno == EEXIST))
        fd = openat(w->way.fd, w->way.name, flags);
    return fd < 0 || fstat(fd, st) < 0 ? -1 : take_fd(fd);
}

static void note_file(struct walk *w, const struct stat *st)
{
    for (size_t i = 0; i < w->rules->n_trees; i++)
        w->way.crosses |= w->rules->trees[i].written && way_is_same(st, &w->rules->trees[i].st);
}

/* False where the way ends. */
static bool step(struct walk *w)
{
    scoped_fd int fd = -1;
    struct stat st;
    bool in_tree;
    int error;

    if (!next_name(w))
        return false;
    in_tree = is_in_tree(w);
    fd = look(w, &st);
    error = fd < 0 ? errno : 0;
    w->way.foreign = (w->rules->own || (w->rules->own_links && !error && S_ISLNK(st.st_mode))) &&
                     is_foreign(w->way.fd, error ? NULL : &st);
    if (error || w->way.foreign)
        return stop(w, error);
    if (S_ISLNK(st.st_mode)) {
        w->way.linked = in_tree && w->rules->no_links;
        return w->way.linked ? stop(w, ELOOP) : follow(w, fd);
    }
    if (S_ISDIR(st.st_mode)) {
        go_to(w, take_fd(fd));
        return true;
    }
    note_file(w, &st);
    return stop(w, w->way.last ? 0 : ENOTDIR);
}

struct way way_follow(const char *path, const struct way_rules *rules)
{
    struct walk w = { .rules = rules, .way.fd = -1 };
    int len = snprintf(w.rest, sizeof(w.rest), "%s", path);

    if (len < 0 || (size_t)len >= sizeof(w.rest)) {
        w.way.error = errno = ENAMETOOLONG;
        return w.way;
    }
    go_to(&w, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (w.way.fd >= 0 && step(&w))
        ;
    return w.way;
}

struct way way_walk(const char *path, const struct stat *top)
{
    const struct way_tree tree = { .st = *top, .written = true };

    return way_follow(path, &(struct way_rules){ .trees = &tree, .n_trees = 1 });
}

int way_open(const char *path, int flags)
{
    const char *slash = strrchr(path, '/');
    char above[PATH_MAX];
    scoped_fd int dir = -1;
    struct way way;

    if (strlen(path) >= sizeof(above)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    way = way_follow(above, &(struct way_rules){ .own_links = true });
    dir = way.fd;
    if (dir < 0 || !way.whole) {
        errno = way.foreign ? ELOOP : way.error ? way.error : ENOTDIR;
        return -1;
    }
    return openat(dir,
                  slash && slash[1] ? slash + 1
                  : slash           ? "."
                                    : path,
                  flags | O_NOFOLLOW | O_CLOEXEC);
}
