#include "init/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "sandbox/collect.h"
#include "sandbox/protocol.h"

#define CHUNK (64 * 1024)
#define LINK_MAX_TEXT 4096

/* Each returns 0, or the errno of what could not be read; a reader that left makes everything fail. */
static int put(const void *data, size_t len)
{
    return fd_write_all(INIT_COLLECT, data, len) < 0 ? EPIPE : 0;
}

static int put_entry(enum collect_kind kind, const char *name, uint64_t size, const struct stat *st)
{
    struct collect_entry entry = { .kind = kind,
                                   .size = size,
                                   .name_len = name ? (uint32_t)strlen(name) : 0 };
    int r;

    if (st) {
        entry.mode = st->st_mode;
        entry.mtime_s = st->st_mtim.tv_sec;
        entry.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    }
    r = put(&entry, sizeof(entry));

    return r || !name ? r : put(name, entry.name_len);
}

/* Exactly as many bytes as were announced: nobody is left who could change the file. */
static int put_file(int at, const char *name)
{
    scoped_fd int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    static char chunk[CHUNK];
    struct stat st;
    off_t left;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EINVAL;
    left = st.st_size;
    r = put_entry(COLLECT_FILE, name, (uint64_t)left, &st);
    while (r == 0 && left > 0) {
        ssize_t n = read(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);

        if (n <= 0)
            return n < 0 ? errno : EIO;
        r = put(chunk, (size_t)n);
        left -= n;
    }
    return r;
}

static int put_link(int at, const char *name)
{
    char text[LINK_MAX_TEXT];
    ssize_t n = readlinkat(at, name, text, sizeof(text));
    int r;

    if (n < 0)
        return errno;
    r = put_entry(COLLECT_LINK, name, (uint64_t)n, NULL);
    return r ? r : put(text, (size_t)n);
}

static int put_directory(int at, const char *name, int depth);

/* Only files, directories and links: a pipe or a socket means nothing outside. */
static int put_any(int at, const char *name, int depth)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return put_file(at, name);
    case S_IFLNK:
        return put_link(at, name);
    case S_IFDIR:
        return put_directory(at, name, depth + 1);
    default:
        return 0;
    }
}

static int put_entries(int at, int depth)
{
    int copy = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    int r = 0;

    if (!dir)
        return errno;
    while (r == 0 && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        r = put_any(at, entry->d_name, depth);
        if (r && r != EPIPE) {
            put_entry(COLLECT_FAILED, entry->d_name, (uint64_t)r, NULL);
            return EPIPE; /* said once: nothing follows */
        }
    }
    return r;
}

static int put_directory(int at, const char *name, int depth)
{
    scoped_fd int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return errno;
    if (depth > COLLECT_MAX_DEPTH)
        return ELOOP;
    r = put_entry(COLLECT_ENTER, name, 0, &st);
    if (r == 0)
        r = put_entries(fd, depth);
    return r ? r : put_entry(COLLECT_LEAVE, NULL, 0, &st);
}

void collect_tree(const struct inside *in)
{
    static const struct sigaction ignore = { .sa_handler = SIG_IGN };
    scoped_fd int top =
        openat(in->root_fd, in->plan->collects[0].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = top >= 0 ? 0 : errno;

    (void)sigaction(SIGPIPE, &ignore,
                    NULL); /* a reader that had enough is no reason not to report */
    if (r == 0)
        r = put_entries(top, 0);
    if (r == 0)
        put_entry(COLLECT_END, NULL, 0, NULL);
    else if (r != EPIPE)
        put_entry(COLLECT_FAILED, in->plan->collects[0].path, (uint64_t)r, NULL);
}
