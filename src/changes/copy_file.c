#include "changes/copy_tree.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIECE (8u << 20) /* per call, to report progress often enough */
#define CHUNK (128u << 10)

struct span {
    int from, to;
    off_t at, end;
    bool by_hand; /* the kernel has refused to copy */
    char *chunk;  /* allocated when needed */
};

/* Bytes copied, 0 at the end of the file, or -1. */
static ssize_t by_kernel(struct span *s)
{
    size_t want = s->end - s->at < PIECE ? (size_t)(s->end - s->at) : PIECE;
    off_t in = s->at, out = in;
    ssize_t n = copy_file_range(s->from, &in, s->to, &out, want, 0);

    /* Some file systems return 0 for what they cannot copy; reading decides. */
    s->by_hand = n == 0 || (n < 0 && errno != ENOSPC && errno != EDQUOT && errno != EINTR);
    return n;
}

static ssize_t by_hand(struct span *s)
{
    size_t want = s->end - s->at < CHUNK ? (size_t)(s->end - s->at) : CHUNK;
    ssize_t n;

    if (!s->chunk && !(s->chunk = malloc(CHUNK)))
        return -1;
    n = pread(s->from, s->chunk, want, s->at);
    for (ssize_t done = 0, w; done < n; done += w) {
        w = pwrite(s->to, s->chunk + done, (size_t)(n - done), s->at + done);
        if (w < 0)
            return -1;
    }
    return n;
}

/* The bytes from `at` to `end`; 1 when the file ends before. */
static int copy_span(struct span *s, struct copy_file *how)
{
    while (s->at < s->end) {
        bool kernel = !s->by_hand;
        ssize_t n = kernel ? by_kernel(s) : by_hand(s);

        if ((kernel && s->by_hand) || (n < 0 && errno == EINTR))
            continue;
        if (n <= 0)
            return n < 0 ? -1 : 1;
        s->at += n;
        if (how->moved)
            how->moved(how->context, (uint64_t)n);
    }
    return 0;
}

static int copy_data(struct span *s, off_t size, struct copy_file *how)
{
    off_t at = 0;
    int r = 0;

    while (r == 0 && at < size) {
        off_t data = lseek(s->from, at, SEEK_DATA), hole;

        if (data < 0 && errno == ENXIO)
            return 0; /* nothing but a hole up to the end */
        hole = data < 0 ? -1 : lseek(s->from, data, SEEK_HOLE);
        s->at = data < 0 ? at : data;
        s->end = hole < 0 || hole > size ? size : hole;
        if (s->at >= size)
            return 0;
        r = copy_span(s, how);
        at = s->end;
    }
    return r;
}

int copy_file(int from_fd, int to_fd, uint64_t size, struct copy_file *how)
{
    struct span s = { .from = from_fd, .to = to_fd };
    struct stat st;
    int r;

    how->reflinked = size > 0 && ioctl(to_fd, FICLONE, from_fd) == 0;
    if (how->reflinked) {
        if (how->moved)
            how->moved(how->context, size);
        return 0;
    }
    r = copy_data(&s, (off_t)size, how);
    free(s.chunk);
    if (r < 0)
        return -1;
    if (r > 0) /* cut short while it was read: its new size counts */
        size = fstat(from_fd, &st) < 0 || (uint64_t)st.st_size > size ? size : (uint64_t)st.st_size;
    return ftruncate(to_fd, (off_t)size);
}
