#include "session/snapshot.h"
#include "session/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree_remove.h"
#include "base/walk.h"
#include "changes/beneath.h"

#define DEPTH_MAX 64
#define PATH_SIZE 2048
#define NAMED_MAX 20 /* paths that could not be put back */
#define TEXT_MAX ((size_t)128 << 20)
#define DATA_NAME "state.new"
#define FIRST_ENTRIES 64 /* most sessions have few files: room for all takes 0.6 ms to be made */

static const char *const tops[] = { "work", "tmp" };

struct snapshot_entry {
    size_t path; /* offset in `paths`: "work/a/b" */
    uint32_t mode;
    bool saved; /* a file with its content, a link with its text */
    uint64_t offset, size, ino;
    struct timespec mtime, ctime;
};

/* What a walk over one of the tops works on. */
struct visit {
    struct session *s;
    struct snapshot *snapshot;
    struct snapshot_entry **sorted; /* by path */
    json_t *how;
    uint64_t removed;
};

static const char *path_of(const struct snapshot *snapshot, const struct snapshot_entry *entry)
{
    return snapshot->paths.data + entry->path;
}

static int save_file(struct snapshot *snapshot, struct snapshot_entry *entry,
                     const struct walk_entry *from)
{
    scoped_fd int fd = walk_open_file(from);
    uint64_t left = entry->size;

    if (fd < 0 || entry->size > SNAPSHOT_BYTES - snapshot->bytes)
        return -1;
    entry->offset = snapshot->bytes;
    if (lseek(snapshot->data_fd, (off_t)entry->offset, SEEK_SET) < 0)
        return -1;
    while (left > 0) {
        ssize_t n = sendfile(snapshot->data_fd, fd, NULL, left);

        if (n <= 0)
            return -1; /* it became shorter: it is being written */
        left -= (uint64_t)n;
    }
    snapshot->bytes += entry->size;
    return 0;
}

static int save_link(struct snapshot *snapshot, struct snapshot_entry *entry,
                     const struct walk_entry *from)
{
    char text[4096];
    ssize_t n = readlinkat(from->dir_fd, from->name, text, sizeof(text));

    if (n <= 0 || (uint64_t)n > SNAPSHOT_BYTES - snapshot->bytes)
        return -1;
    entry->offset = snapshot->bytes;
    entry->size = (uint64_t)n;
    if (pwrite(snapshot->data_fd, text, (size_t)n, (off_t)entry->offset) != n)
        return -1;
    snapshot->bytes += (uint64_t)n;
    return 0;
}

/* What kernels keep for themselves: other files of another kernel, and open ones of this one. */
static bool is_kernels(const char *path)
{
    static const char *const names[] = { "tmp/.cells.", "tmp/.kernel." };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strncmp(path, names[i], strlen(names[i])))
            return true;
    return false;
}

static int make_room(struct snapshot *snapshot)
{
    size_t room = snapshot->room ? 2 * snapshot->room : FIRST_ENTRIES;
    struct snapshot_entry *grown;

    if (snapshot->n < snapshot->room)
        return 0;
    grown = realloc(snapshot->entries, room * sizeof(*grown));
    if (!grown)
        return -1;
    snapshot->entries = grown;
    snapshot->room = room;
    return 0;
}

static int save_entry(void *context, const struct walk_entry *from, sbr_error *err)
{
    struct snapshot *snapshot = ((struct visit *)context)->snapshot;
    struct snapshot_entry *entry;

    if (is_kernels(from->path))
        return WALK_SKIP;
    if (snapshot->n == SNAPSHOT_ENTRIES) {
        snapshot->whole = false;
        return WALK_SKIP;
    }
    if (make_room(snapshot) < 0)
        return err_set_oom(err, "session");
    entry = &snapshot->entries[snapshot->n];
    *entry = (struct snapshot_entry){ .path = snapshot->paths.len,
                                      .mode = from->st.st_mode,
                                      .size = (uint64_t)from->st.st_size,
                                      .ino = from->st.st_ino,
                                      .mtime = from->st.st_mtim,
                                      .ctime = from->st.st_ctim };
    if (buf_add(&snapshot->paths, from->path, strlen(from->path) + 1) < 0)
        return err_set_oom(err, "session");
    if (S_ISREG(from->st.st_mode))
        entry->saved = save_file(snapshot, entry, from) == 0;
    else if (S_ISLNK(from->st.st_mode))
        entry->saved = save_link(snapshot, entry, from) == 0;
    else
        entry->saved = S_ISDIR(from->st.st_mode);
    snapshot->left_out += !entry->saved;
    snapshot->n++;
    return 0;
}

static int walk_top(struct visit *v, const char *top, walk_visit *visit, sbr_error *err)
{
    const struct walk walk = {
        .visit = visit,
        .fail = walk_pass_over, /* A directory that cannot be read, or a mount: as it is. */
        .context = v,
        .stage = "session",
        .top = top,
        .flags = WALK_NO_MOUNTS,
        .max_depth = DEPTH_MAX,
        .max_path = PATH_SIZE
    };
    struct session_top open;
    scoped_fd int fd = -1;
    int r;

    if (session_top_open(v->s, top, &open, err) < 0)
        return err->code;
    fd = openat(open.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = fd < 0 ? err_set_errno(err, "session", "cannot read the session's /%s", top)
               : walk_tree(fd, &walk, err);
    session_top_close(&open);
    return r;
}

static int make_data(const struct session *s)
{
    int fd =
        openat(s->dir.fd, DATA_NAME, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    (void)unlinkat(s->dir.fd, DATA_NAME, 0);
    return fd;
}

struct snapshot *snapshot_take(struct session *s, uint64_t cell, sbr_error *err)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
    struct visit v = { .s = s, .snapshot = snapshot };
    int r = 0;

    if (!snapshot) {
        err_set_oom(err, "session");
        return NULL;
    }
    link_init(&snapshot->link);
    buf_init(&snapshot->paths, SIZE_MAX / 2);
    snapshot->cell = cell;
    snapshot->whole = true;
    snapshot->data_fd = make_data(s);
    if (snapshot->data_fd < 0)
        r = err_set_errno(err, "session", "cannot save the files of the session");
    runner_pause(s->job, true);
    runner_await_pause(s->job);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(tops); i++)
        r = walk_top(&v, tops[i], save_entry, err);
    runner_pause(s->job, false);
    if (r == 0)
        return snapshot;
    snapshot_free(snapshot);
    return NULL;
}

static int by_path(const void *a, const void *b, void *context)
{
    return strcmp(path_of(context, *(struct snapshot_entry *const *)a),
                  path_of(context, *(struct snapshot_entry *const *)b));
}

static struct snapshot_entry *find_entry(const struct visit *v, const char *path)
{
    size_t low = 0, high = v->snapshot->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, path_of(v->snapshot, v->sorted[middle]));

        if (order == 0)
            return v->sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* What came since, and what is of another kind now. */
static int remove_new(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct visit *v = context;
    const struct snapshot_entry *was = find_entry(v, entry->path);

    (void)err;
    if (was && (was->mode & S_IFMT) == (entry->st.st_mode & S_IFMT))
        return 0;
    if (is_kernels(entry->path) || (!was && !v->snapshot->whole))
        return WALK_SKIP; /* it may have been there */
    v->removed += tree_remove(entry->dir_fd, entry->name) == 0;
    return WALK_SKIP;
}

static bool is_same(const struct snapshot_entry *entry, const struct stat *now)
{
    return now->st_mode == entry->mode && now->st_ino == entry->ino &&
           now->st_ctim.tv_sec == entry->ctime.tv_sec &&
           now->st_ctim.tv_nsec == entry->ctime.tv_nsec;
}

static int write_back(const struct snapshot *snapshot, const struct snapshot_entry *entry, int dir,
                      const char *name)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, entry->mtime };
    off_t at = (off_t)entry->offset, end = at + (off_t)entry->size;
    scoped_fd int fd = -1;

    (void)unlinkat(dir, name, 0); /* another name of it keeps what it has now */
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    while (at < end)
        if (sendfile(fd, snapshot->data_fd, &at, (size_t)(end - at)) <= 0)
            return -1;
    return fchmod(fd, entry->mode & 07777) < 0 || futimens(fd, times) < 0 ? -1 : 0;
}

static int link_back(const struct snapshot *snapshot, const struct snapshot_entry *entry, int dir,
                     const char *name)
{
    char text[4097];

    if (pread(snapshot->data_fd, text, entry->size, (off_t)entry->offset) != (ssize_t)entry->size)
        return -1;
    text[entry->size] = '\0';
    (void)unlinkat(dir, name, 0);
    return symlinkat(text, dir, name);
}

static int dir_back(const struct snapshot_entry *entry, int dir, const char *name)
{
    scoped_fd int fd = -1;

    if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -1;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fchmod(fd, entry->mode & 07777) < 0 ? -1 : 0;
}

/* 1: put back; 0: it is as it was; -1: it cannot be. */
static int put_back(const struct snapshot *snapshot, const struct snapshot_entry *entry,
                    const struct session_top *top, const char *path)
{
    const char *name = NULL;
    scoped_fd int dir = beneath_parent(top->fd, path, &name);
    struct stat now;

    if (dir >= 0 && fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        (is_same(entry, &now) || (S_ISDIR(entry->mode) && now.st_mode == entry->mode)))
        return 0;
    if (dir < 0 || !entry->saved)
        return -1;
    if (S_ISDIR(entry->mode))
        return dir_back(entry, dir, name) < 0 ? -1 : 1;
    if (S_ISLNK(entry->mode))
        return link_back(snapshot, entry, dir, name) < 0 ? -1 : 1;
    return write_back(snapshot, entry, dir, name) < 0 ? -1 : 1;
}

static int put_all_back(struct visit *v, const char *top, sbr_error *err)
{
    json_t *failed = json_object_get(v->how, "not_restored");
    size_t len = strlen(top);
    struct session_top open;
    json_int_t restored = 0;

    if (session_top_open(v->s, top, &open, err) < 0)
        return err->code;
    for (size_t i = 0; i < v->snapshot->n; i++) {
        const char *path = path_of(v->snapshot, &v->snapshot->entries[i]);
        int r;

        if (strncmp(path, top, len) != 0 || path[len] != '/')
            continue;
        r = put_back(v->snapshot, &v->snapshot->entries[i], &open, path + len + 1);
        restored += r > 0;
        if (r < 0 && json_array_size(failed) < NAMED_MAX)
            json_array_append_new(failed, json_sprintf("/%s", path));
    }
    session_top_close(&open);
    json_object_set_new(v->how, "restored",
                        json_integer(restored +
                                     json_integer_value(json_object_get(v->how, "restored"))));
    return 0;
}

int snapshot_lay_out(struct session *s, const struct snapshot *snapshot, json_t *how,
                     sbr_error *err)
{
    scoped_free struct snapshot_entry **sorted =
        calloc(snapshot->n + 1, sizeof(struct snapshot_entry *));
    struct visit v = {
        .s = s, .snapshot = (struct snapshot *)snapshot, .sorted = sorted, .how = how
    };
    int r = 0;

    if (!sorted)
        return err_set_oom(err, "session");
    for (size_t i = 0; i < snapshot->n; i++)
        sorted[i] = &snapshot->entries[i];
    qsort_r(sorted, snapshot->n, sizeof(struct snapshot_entry *), by_path, (void *)snapshot);
    json_object_set_new(how, "restored", json_integer(0));
    json_object_set_new(how, "not_restored", json_array());
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(tops); i++) {
        r = walk_top(&v, tops[i], remove_new, err);
        if (r == 0)
            r = put_all_back(&v, tops[i], err);
    }
    json_object_set_new(how, "removed", json_integer((json_int_t)v.removed));
    return r;
}

int snapshot_restore(struct session *s, const struct snapshot *snapshot, json_t *how,
                     sbr_error *err)
{
    int r;

    runner_pause(s->job, true);
    runner_await_pause(s->job);
    r = snapshot_lay_out(s, snapshot, how, err);
    runner_pause(s->job, false);
    return r;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    link_remove(&snapshot->link);
    scope_close_fd(&snapshot->data_fd);
    free(snapshot->entries);
    buf_done(&snapshot->paths);
    free(snapshot);
}

json_t *snapshot_write(const struct snapshot *snapshot, const char *text)
{
    size_t len = snapshot->n * sizeof(*snapshot->entries), text_len = text ? strlen(text) : 0;

    if (lseek(snapshot->data_fd, (off_t)snapshot->bytes, SEEK_SET) < 0 ||
        fd_write_all(snapshot->data_fd, snapshot->entries, len) < 0 ||
        fd_write_all(snapshot->data_fd, snapshot->paths.data, snapshot->paths.len) < 0 ||
        fd_write_all(snapshot->data_fd, text, text_len) < 0)
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:I}", "bytes", (json_int_t)snapshot->bytes, "entries",
                     (json_int_t)snapshot->n, "paths", (json_int_t)snapshot->paths.len, "text",
                     (json_int_t)text_len);
}

static size_t number_in(const json_t *numbers, const char *name, size_t most)
{
    json_int_t value = json_integer_value(json_object_get(numbers, name));

    return value < 0 ? 0 : (size_t)value > most ? most : (size_t)value;
}

/* Reads `len` bytes and adds a zero behind them. */
static char *read_part(int fd, size_t len)
{
    char *data = malloc(len + 1);

    if (data && fd_read_full(fd, data, len) == (ssize_t)len) {
        data[len] = '\0';
        return data;
    }
    free(data);
    return NULL;
}

static bool read_table(struct snapshot *snapshot, const json_t *numbers)
{
    size_t paths = number_in(numbers, "paths", SNAPSHOT_ENTRIES * (size_t)PATH_SIZE);
    scoped_free char *text = NULL;

    snapshot->bytes = number_in(numbers, "bytes", SNAPSHOT_BYTES);
    snapshot->n = number_in(numbers, "entries", SNAPSHOT_ENTRIES);
    if (lseek(snapshot->data_fd, (off_t)snapshot->bytes, SEEK_SET) < 0)
        return false;
    snapshot->entries =
        (void *)read_part(snapshot->data_fd, snapshot->n * sizeof(*snapshot->entries));
    text = read_part(snapshot->data_fd, paths);
    if (!snapshot->entries || !text || buf_add(&snapshot->paths, text, paths + 1) < 0)
        return false;
    for (size_t i = 0; i < snapshot->n; i++)
        if (snapshot->entries[i].path >= snapshot->paths.len)
            return false;
    return true;
}

struct snapshot *snapshot_read(int take_fd, const json_t *numbers, char **ret_text)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (!snapshot) {
        close(take_fd);
        return NULL;
    }
    link_init(&snapshot->link);
    buf_init(&snapshot->paths, SIZE_MAX / 2);
    snapshot->whole = true;
    snapshot->data_fd = take_fd;
    if (read_table(snapshot, numbers) &&
        (*ret_text = read_part(take_fd, number_in(numbers, "text", TEXT_MAX))) != NULL)
        return snapshot;
    snapshot_free(snapshot);
    return NULL;
}

struct snapshot *snapshot_find(struct session *s, uint64_t cell)
{
    list_each(at, &s->snapshots)
        if (link_owner(at, struct snapshot, link)->cell == cell)
            return link_owner(at, struct snapshot, link);
    return NULL;
}

void snapshot_drop_from(struct session *s, uint64_t cell)
{
    list_each(at, &s->snapshots)
        if (link_owner(at, struct snapshot, link)->cell >= cell)
            snapshot_free(link_owner(at, struct snapshot, link));
}

void snapshot_keep(struct session *s, struct snapshot *take_snapshot)
{
    size_t n = 0;

    snapshot_drop_from(s, take_snapshot->cell);
    list_append(&s->snapshots, &take_snapshot->link);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a snapshot that was freed is in no list */
    list_each(at, &s->snapshots)
        n++;
    if (n > SNAPSHOTS_MAX)
        snapshot_free(link_owner(s->snapshots.next, struct snapshot, link));
}
