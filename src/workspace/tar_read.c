/* Makes what an archive has.  Every path is walked from the top by descriptor, so that nothing that the archive itself
 * put there leads anywhere else; every file is new. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "base/walk.h"
#include "changes/node.h"
#include "workspace/tar.h"
#include "workspace/tar_parse.h"

#define BLOCK 4096
#define CHUNK ((size_t)32 * BLOCK)
#define IMPLIED_MODE 0755 /* of a directory that the archive only mentions */
#define MAX_DRAINED (1024 * 1024)

/* How a directory looks in the end; until then we must be able to write to it. */
struct made_dir {
    char *path;
    size_t number; /* the last one of a path counts */
    uint32_t mode;
    struct timespec mtime;
    bool implied;
};

struct making {
    int tree_fd;
    struct tar_in in;
    struct tar_source *source;
    uint64_t bytes, entries;
    struct made_dir *dirs;
    size_t n_dirs, room;
    char *chunk;
};

static int fail(const char *path, sbr_error *err)
{
    return err_set_errno(err, "import", "cannot make '%.150s'", path);
}

static int refuse(const char *path, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "import",
                   "the archive %s: '%.120s'; nothing of it was taken", what, path);
}

static int count_entry(struct making *m, sbr_error *err)
{
    if (++m->entries <= m->source->max_entries)
        return 0;
    return err_set(
        err, SBR_E_INVALID, "import",
        "the archive has more than the %llu files and directories that the workspace may "
        "have; give it more with --inodes",
        (unsigned long long)m->source->max_entries);
}

static int count_bytes(struct making *m, uint64_t bytes, sbr_error *err)
{
    char quota[32];

    m->bytes += bytes;
    if (m->bytes <= m->source->max_bytes)
        return 0;
    text_format_size(m->source->max_bytes, quota, sizeof(quota));
    return err_set(
        err, SBR_E_INVALID, "import",
        "the archive takes more than the %s that the workspace may take; give it more with "
        "--disk",
        quota);
}

static int note_dir(struct making *m, struct made_dir dir, const char *path, size_t len,
                    sbr_error *err)
{
    if (m->n_dirs == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        struct made_dir *grown = realloc(m->dirs, room * sizeof(*grown));

        if (!grown)
            return err_set_oom(err, "import");
        m->dirs = grown;
        m->room = room;
    }
    dir.path = strndup(path, len);
    dir.number = m->n_dirs;
    if (!dir.path)
        return err_set_oom(err, "import");
    m->dirs[m->n_dirs++] = dir;
    return 0;
}

/* Opens one directory on the way, which is made when it is not there. */
static int step_into(struct making *m, int dir_fd, const char *path, size_t path_len,
                     sbr_error *err)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char name[256];
    size_t start = path_len;
    int fd;

    while (start > 0 && path[start - 1] != '/')
        start--;
    memcpy(name, path + start,
           path_len - start); /* at most COLLECT_MAX_NAME: tar_parse.c sees to it */
    name[path_len - start] = '\0';
    fd = openat(dir_fd, name, flags);
    if (fd < 0 && errno == ENOENT) {
        struct made_dir dir = { .mode = IMPLIED_MODE, .implied = true };

        if (count_entry(m, err) < 0 || note_dir(m, dir, path, path_len, err) < 0)
            return err->code;
        if (mkdirat(dir_fd, name, 0700) == 0)
            fd = openat(dir_fd, name, flags);
    }
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return refuse(path, "has a path that goes through a link or a file", err);
    return fd < 0 ? fail(path, err) : fd;
}

/* The directory where a path's last part goes; *ret_name is that part. */
static int open_parent(struct making *m, const char *path, int *ret_fd, const char **ret_name,
                       sbr_error *err)
{
    scoped_fd int at = openat(m->tree_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *slash = strchr(path, '/');

    if (at < 0)
        return fail(path, err);
    *ret_name = path;
    for (; slash; slash = strchr(slash + 1, '/')) {
        int fd = step_into(m, at, path, (size_t)(slash - path), err);

        if (fd < 0)
            return fd;
        close(at);
        at = fd;
        *ret_name = slash + 1;
    }
    *ret_fd = take_fd(at);
    return 0;
}

static bool is_zero(const char *data, size_t len)
{
    return len == 0 || (data[0] == '\0' && !memcmp(data, data + 1, len - 1));
}

/* Blocks of zeros become holes. */
static int put_blocks(struct making *m, int fd, uint64_t offset, size_t len, sbr_error *err)
{
    for (size_t at = 0; at < len; at += BLOCK) {
        size_t n = len - at < BLOCK ? len - at : BLOCK;

        if (is_zero(m->chunk + at, n))
            continue;
        if (count_bytes(m, BLOCK, err) < 0)
            return err->code;
        errno = ENOSPC; /* should less be written than was asked for */
        if (pwrite(fd, m->chunk + at, n, (off_t)(offset + at)) != (ssize_t)n)
            return err_set_errno(err, "import", "cannot write the archive's files");
    }
    return 0;
}

/* From the archive, or from another file of the tree. */
static int put_content(struct making *m, int from_fd, int to_fd, uint64_t size, sbr_error *err)
{
    for (uint64_t offset = 0; offset < size;) {
        size_t n = size - offset < CHUNK ? (size_t)(size - offset) : CHUNK;

        if (from_fd < 0) {
            if (tar_in_read(&m->in, m->chunk, n, err) < 0)
                return err->code;
        } else if ((errno = EIO, fd_read_full(from_fd, m->chunk, n)) != (ssize_t)n) {
            return err_set_errno(err, "import", "cannot read the target of a hard link");
        }
        if (put_blocks(m, to_fd, offset, n, err) < 0)
            return err->code;
        offset += n;
    }
    if (ftruncate(to_fd, (off_t)size) < 0)
        return err_set_errno(err, "import", "cannot write the archive's files");
    return from_fd < 0 ? tar_in_pad(&m->in, size, err) : 0;
}

static int mount_make_file(struct making *m, const struct tar_entry *entry, int from_fd,
                           uint64_t size, sbr_error *err)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, entry->mtime };
    scoped_fd int parent = -1, fd = -1;
    const char *name;

    if (count_entry(m, err) < 0 || open_parent(m, entry->path, &parent, &name, err) < 0)
        return err->code;
    fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return refuse(entry->path, "has two entries of one name", err);
    if (fd < 0)
        return fail(entry->path, err);
    if (put_content(m, from_fd, fd, size, err) < 0)
        return err->code;
    if (fchmod(fd, entry->mode) < 0 || futimens(fd, times) < 0)
        return fail(entry->path, err);
    return 0;
}

static int make_plain(struct making *m, const struct tar_entry *entry, sbr_error *err)
{
    return mount_make_file(m, entry, -1, entry->size, err);
}

/* Another name of a file before it: becomes a file of its own, as every name counts by itself here. */
static int make_hard_link(struct making *m, const struct tar_entry *entry, sbr_error *err)
{
    const char *slash = strrchr(entry->link, '/');
    struct walk_entry target = { .name = slash ? slash + 1 : entry->link, .dir_fd = m->tree_fd };
    scoped_free char *above = slash ? strndup(entry->link, (size_t)(slash - entry->link)) : NULL;
    scoped_fd int parent = above ? node_open(m->tree_fd, above, O_PATH | O_DIRECTORY) : -1;
    scoped_fd int from_fd = -1;
    struct tar_entry copy = *entry;

    if (slash && parent < 0)
        return refuse(entry->path, "has a hard link to what is no file in it", err);
    if (slash)
        target.dir_fd = parent;
    if (!*target.name || fstatat(target.dir_fd, target.name, &target.st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(target.st.st_mode))
        return refuse(entry->path, "has a hard link to what is no file in it", err);
    from_fd = walk_open_file(&target);
    if (from_fd < 0)
        return fail(entry->path, err);
    copy.mode = target.st.st_mode & 0777;
    copy.mtime = target.st.st_mtim;
    return mount_make_file(m, &copy, from_fd, (uint64_t)target.st.st_size, err);
}

static int make_link(struct making *m, const struct tar_entry *entry, sbr_error *err)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, entry->mtime };
    scoped_fd int parent = -1;
    const char *name;

    if (count_entry(m, err) < 0 || open_parent(m, entry->path, &parent, &name, err) < 0)
        return err->code;
    if (symlinkat(entry->link, parent, name) < 0)
        return errno == EEXIST ? refuse(entry->path, "has two entries of one name", err)
                               : fail(entry->path, err);
    (void)utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
    return 0;
}

static int make_dir(struct making *m, const struct tar_entry *entry, sbr_error *err)
{
    struct made_dir dir = { .mode = entry->mode, .mtime = entry->mtime };
    scoped_fd int parent = -1;
    const char *name;
    struct stat st;

    if (!entry->path[0])
        return 0; /* the top, which is ours */
    if (open_parent(m, entry->path, &parent, &name, err) < 0)
        return err->code;
    if (mkdirat(parent, name, 0700) == 0) {
        if (count_entry(m, err) < 0)
            return err->code;
    } else if (errno != EEXIST) {
        return fail(entry->path, err);
    } else if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
        return refuse(entry->path, "has two entries of one name", err);
    }
    return note_dir(m, dir, entry->path, strlen(entry->path), err);
}

static int leave_out(struct making *m, const struct tar_entry *entry, sbr_error *err)
{
    struct tar_left_out *left = &m->source->left_out;

    (void)err;
    if (left->n++ == 0)
        text_copy_visibly(left->first, sizeof(left->first), entry->path, strlen(entry->path));
    return 0;
}

/* The deepest first, and of one path the last. */
static int by_path_down(const void *a, const void *b)
{
    const struct made_dir *x = a, *y = b;
    int order = strcmp(y->path, x->path);

    return order ? order : (x->number < y->number) - (x->number > y->number);
}

/* Only now: a directory that cannot be written to would have kept out what is in it. */
static int finish_dirs(struct making *m, sbr_error *err)
{
    if (m->n_dirs)
        qsort(m->dirs, m->n_dirs, sizeof(*m->dirs), by_path_down);
    for (size_t i = 0; i < m->n_dirs; i++) {
        const struct made_dir *dir = &m->dirs[i];
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, dir->mtime };
        scoped_fd int fd = -1;

        if (i > 0 && !strcmp(dir->path, m->dirs[i - 1].path))
            continue;
        fd = node_open(m->tree_fd, dir->path, O_RDONLY | O_DIRECTORY);
        if (fd < 0 || (!dir->implied && futimens(fd, times) < 0) || fchmod(fd, dir->mode) < 0)
            return fail(dir->path, err);
    }
    return 0;
}

static int make_all(struct making *m, sbr_error *err)
{
    static int (*const makers[])(struct making *, const struct tar_entry *, sbr_error *) = {
        [TAR_FILE] = make_plain, [TAR_HARD_LINK] = make_hard_link, [TAR_LINK] = make_link,
        [TAR_DIR] = make_dir,    [TAR_OTHER] = leave_out,
    };
    struct tar_entry entry;
    int r;

    do {
        r = tar_next(&m->in, &entry, err);
        if (r == 1 && makers[entry.kind](m, &entry, err) < 0)
            r = err->code;
        tar_entry_done(&entry);
    } while (r == 1);
    return r;
}

/* Who writes the archive into a pipe has padding to be rid of. */
static void drain(struct making *m)
{
    for (size_t total = 0; total < MAX_DRAINED; total += CHUNK)
        if (fd_read_full(m->in.fd, m->chunk, CHUNK) != (ssize_t)CHUNK)
            return;
}

int tar_read(int tree_fd, struct tar_source *source, sbr_error *err)
{
    scoped_free char *chunk = malloc(CHUNK);
    struct making m = { .tree_fd = tree_fd, .source = source, .chunk = chunk };
    int r;

    source->left_out = (struct tar_left_out){ 0 };
    if (!chunk)
        return err_set_oom(err, "import");
    r = tar_in_init(&m.in, source->fd, err);
    if (r == 0)
        r = make_all(&m, err);
    if (r == 0)
        drain(&m);
    if (r == 0)
        r = finish_dirs(&m, err);
    tar_in_done(&m.in);
    for (size_t i = 0; i < m.n_dirs; i++)
        free(m.dirs[i].path);
    free(m.dirs);
    return r;
}
