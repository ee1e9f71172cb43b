#include "init/collect_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/inode.h"

/* Init reads and enters directories; it only reads files. */
static mode_t needed(const struct stat *st)
{
    return S_ISDIR(st->st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR;
}

static bool locks_us_out(const struct stat *st)
{
    return st->st_uid == geteuid() && st->st_uid != 0 && (st->st_mode & needed(st)) != needed(st);
}

static int open_any(int at, const char *name, struct stat *st, int flags)
{
    return locks_us_out(st) ? inode_open_locked(at, name, flags | O_NONBLOCK, needed(st), st)
                            : inode_open(at, name, flags | O_NONBLOCK, st);
}

int collect_pass(int at, const char *name, struct stat *st)
{
    return open_any(at, name, st, O_PATH | O_DIRECTORY);
}

DIR *collect_dir_of(int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

DIR *collect_open_dir(int at, const char *name, struct stat *st)
{
    return collect_dir_of(open_any(at, name, st, O_RDONLY | O_DIRECTORY));
}

/* The file may be in a volume of the caller. */
void collect_restore(int fd, const struct stat *st)
{
    if (locks_us_out(st))
        (void)inode_chmod(fd, st->st_mode & 07777);
}

/* Finds the next range with data from `from` on; false: there is none.  On a file system without
 * holes the whole file is data. */
static bool next_data(int fd, uint64_t from, uint64_t size, uint64_t *ret_from, uint64_t *ret_end)
{
    off_t data = from < size ? lseek(fd, (off_t)from, SEEK_DATA) : -1, hole;

    *ret_from = from;
    *ret_end = size;
    if (from >= size || (data < 0 && errno == ENXIO))
        return false;
    hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;
    if (data >= 0)
        *ret_from = (uint64_t)data;
    if (hole > data)
        *ret_end = (uint64_t)hole < size ? (uint64_t)hole : size;
    return *ret_from < size;
}

static uint64_t data_bytes(int fd, uint64_t size)
{
    uint64_t from = 0, end, sum = 0;

    for (; next_data(fd, from, size, &from, &end); from = end)
        sum += end - from;
    return sum;
}

static int send_file(struct stream *s, int fd, const char *name, const struct stat *st)
{
    static const struct collect_piece last;
    uint64_t size = (uint64_t)st->st_size, from = 0, end;
    int r = collect_stream_afford(s, data_bytes(fd, size), size), broken;

    if (r == 0)
        r = collect_stream_entry(s, (struct collect_entry){ .kind = COLLECT_FILE, .size = size },
                                 name, st);
    if (r)
        return r;
    for (; r == 0 && next_data(fd, from, size, &from, &end); from = end)
        r = collect_stream_data(s, fd, from, end);
    broken = collect_stream_bytes(s, &last, sizeof(last));
    return r ? r : broken;
}

int collect_file(struct stream *s, int at, const char *name, struct stat *st)
{
    scoped_fd int fd = open_any(at, name, st, O_RDONLY);

    if (fd < 0)
        return errno;
    collect_restore(fd, st);
    return send_file(s, fd, name, st);
}

int collect_file_name(struct stream *s, const char *name, const struct stat *st)
{
    static const struct collect_piece last;
    struct collect_entry entry = { .kind = COLLECT_FILE, .size = (uint64_t)st->st_size };
    int r = collect_stream_entry(s, entry, name, st);

    return r ? r : collect_stream_bytes(s, &last, sizeof(last));
}

int collect_link(struct stream *s, int at, const char *name, const struct stat *st)
{
    char text[COLLECT_MAX_LINK];
    ssize_t n = readlinkat(at, name, text, sizeof(text));
    int r;

    if (n < 0)
        return errno;
    r = collect_stream_entry(s, (struct collect_entry){ .kind = COLLECT_LINK, .size = (uint64_t)n },
                             name, st);
    return r ? r : collect_stream_bytes(s, text, (size_t)n);
}
