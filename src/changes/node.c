#include "changes/node.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inode.h"

#define LINK_MAX_TEXT 4096

static enum node_kind kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NODE_FILE;
    case S_IFDIR:
        return NODE_DIR;
    case S_IFLNK:
        return NODE_LINK;
    default:
        return NODE_OTHER;
    }
}

struct node_state node_state_of(const struct stat *st)
{
    enum node_kind kind = kind_of(st->st_mode);

    return (struct node_state){
        .node = { .kind = kind,
                  .mode = st->st_mode & 07777,
                  .size = kind == NODE_FILE || kind == NODE_LINK ? (uint64_t)st->st_size : 0,
                  .mtime_ns = clock_ns(st->st_mtim) },
        .type = st->st_mode & S_IFMT,
        .ino = st->st_ino,
        .ctime_ns = clock_ns(st->st_ctim),
    };
}

/* Compares kind, mode, size and identity; not the mtime of directories, because their entries
 * change it. */
static bool node_state_equal(const struct node_state *a, const struct node_state *b)
{
    if (a->type != b->type || a->node.mode != b->node.mode || a->ino != b->ino)
        return false;
    return a->node.kind == NODE_DIR ||
           (a->node.size == b->node.size && a->node.mtime_ns == b->node.mtime_ns &&
            a->ctime_ns == b->ctime_ns);
}

int node_open(int dir_fd, const char *path, int flags)
{
    int all = flags & O_PATH ? flags & (O_PATH | O_DIRECTORY) : flags | O_NONBLOCK | O_NOCTTY;

    return inode_open_beneath(dir_fd, path, all, RESOLVE_NO_XDEV);
}

/* We cannot see it, so the program could not either. */
static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
           error == EXDEV;
}

int node_look(int dir_fd, const char *path, struct node_state *ret)
{
    scoped_fd int parent = -1;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat st;

    *ret = (struct node_state){ 0 };
    if (slash) {
        scoped_free char *above = strndup(path, (size_t)(slash - path));

        if (!above)
            return -1;
        parent = node_open(dir_fd, above, O_PATH | O_DIRECTORY);
        if (parent < 0)
            return is_absence(errno) ? 0 : -1;
    }
    if (fstatat(slash ? parent : dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return is_absence(errno) ? 0 : -1;
    *ret = node_state_of(&st);
    return 0;
}

int node_open_file(int dir_fd, const char *path, struct node_state *ret)
{
    scoped_fd int fd = node_open(dir_fd, path, O_RDONLY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    *ret = node_state_of(&st);
    return take_fd(fd);
}

char *node_link_text(int dir_fd, const char *path, size_t *ret_len)
{
    scoped_fd int fd = node_open(dir_fd, path, O_PATH);
    scoped_free char *text = malloc(LINK_MAX_TEXT + 1);
    ssize_t len;

    if (fd < 0 || !text)
        return NULL;
    len = readlinkat(fd, "", text, LINK_MAX_TEXT + 1);
    if (len < 0)
        return NULL;
    if (len > LINK_MAX_TEXT) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    text[len] = '\0';
    *ret_len = (size_t)len;
    return take_ptr(text);
}

static int sum_file(int fd, const struct node_state *before, char sum[SHA256_HEX_SIZE])
{
    scoped_free char *chunk = malloc(NODE_CHUNK);
    uint64_t left = before->node.size;
    struct sha256 state;
    struct node_state after;
    struct stat st;

    if (!chunk)
        return -1;
    sha256_init(&state);
    while (left > 0) {
        ssize_t n = read(fd, chunk, left < NODE_CHUNK ? (size_t)left : NODE_CHUNK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        sha256_add(&state, chunk, (size_t)n);
        left -= (uint64_t)n;
    }
    if (fstat(fd, &st) < 0)
        return -1;
    after = node_state_of(&st);
    sha256_finish_hex(&state, sum);
    if (left > 0 || !node_state_equal(before, &after)) {
        errno = EAGAIN;
        return -1;
    }
    return 0;
}

int node_sum(int dir_fd, const char *path, char sum[SHA256_HEX_SIZE])
{
    char hex[SHA256_HEX_SIZE];
    struct node_state seen;
    scoped_fd int fd = node_open_file(dir_fd, path, &seen);

    if (fd < 0) {
        size_t len = 0;
        scoped_free char *text = errno == ELOOP ? node_link_text(dir_fd, path, &len) : NULL;

        if (!text)
            return -1;
        sha256_hex(text, len, sum);
        return 0;
    }
    if (sum_file(fd, &seen, hex) < 0)
        return -1;
    memcpy(sum, hex, sizeof(hex));
    return 0;
}
