/* The files of a compiled program, as fds for a sandbox that was made before the program. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/warm.h"

#define MAX_DEPTH 16
#define TARGET "build"

struct opening {
    struct plan *plan;
    int *fds;
    size_t n;
    uint64_t bytes;
    int depth;
};

static int open_tree(struct opening *o, int fd, const char *to);

/* Takes the fd over. */
static int add_file(struct opening *o, int fd, const struct stat *st, const char *to)
{
    struct plan_op op = {
        .kind = OP_PROGRAM, .flags = OP_PASSED, .to = to, .mode = st->st_mode & 0777
    };
    sbr_error ignored;

    o->bytes += (uint64_t)st->st_size;
    if (o->n == WARM_MAX_FILES || o->bytes > PLAN_APART_BYTES ||
        plan_add_op(o->plan, op, &ignored) < 0) {
        close(fd);
        return -1;
    }
    o->fds[o->n++] = fd;
    return 0;
}

static int add_entry(struct opening *o, int dir_fd, const char *name, const char *to)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const char *path = plan_printf(o->plan, "%s/%s", to, name);
    struct stat st = { 0 };

    if (fd >= 0 && (!path || fstat(fd, &st) < 0))
        st.st_mode = 0;
    if (S_ISREG(st.st_mode))
        return add_file(o, fd, &st, path);
    if (S_ISDIR(st.st_mode))
        return open_tree(o, fd, path);
    scope_close_fd(&fd);
    return -1;
}

/* Takes the fd over.  An empty directory fails, because no operation would make it inside. */
static int open_tree(struct opening *o, int fd, const char *to)
{
    scoped_dir DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    bool empty = true;
    int r = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    if (++o->depth > MAX_DEPTH)
        return -1;
    while (r == 0 && (errno = 0, entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        empty = false;
        r = add_entry(o, dirfd(dir), entry->d_name, to);
    }
    o->depth--;
    return r < 0 || errno || empty ? -1 : 0;
}

int warm_files_open(struct plan *plan, const char *dir, int fds[WARM_MAX_FILES])
{
    struct opening o = { .plan = plan, .fds = fds };
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && open_tree(&o, fd, TARGET) == 0)
        return (int)o.n;
    while (o.n > 0)
        close(fds[--o.n]);
    return -1;
}
