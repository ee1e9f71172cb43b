/* lint-ok: length: one state machine, from the header of a part to its last byte */
#include "monitor/collect_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define CHUNK (256 * 1024)
#define CHUNKS_PER_TURN 16

void collect_reader_init(struct collect_reader *collect_reader, struct collect_part *parts,
                         size_t n_parts, uint64_t max_bytes, uint64_t max_entries)
{
    *collect_reader = (struct collect_reader){ .max_bytes = max_bytes,
                                               .max_entries = max_entries,
                                               .parts = parts,
                                               .n_parts = n_parts,
                                               .fd = -1,
                                               .file = -1 };
    collect_reader->dirs[0] = -1;
}

/* Of the part, and of the whole where it is the first. */
static void note(struct collect_reader *collect_reader, const sbr_error *failure)
{
    if (collect_reader->part) {
        collect_reader->part->complete = false;
        if (!collect_reader->part->failure.code)
            collect_reader->part->failure = *failure;
    }
    if (!collect_reader->failure.code)
        collect_reader->failure = *failure;
}

/* Who made it, in a sentence: only what a stage makes has no list. */
static const char *maker(const struct collect_part *part)
{
    return part && part->list ? "program left" : "stage made";
}

static int refuse(struct collect_reader *collect_reader, const char *reason)
{
    sbr_error failure;

    err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s", maker(collect_reader->part),
            reason);
    note(collect_reader, &failure);
    collect_reader->broken = true;
    return -1;
}

static int cannot_write(struct collect_reader *collect_reader)
{
    sbr_error failure;

    err_set_errno(&failure, "collect", "cannot keep '%.100s'", collect_reader->name);
    note(collect_reader, &failure);
    collect_reader->broken = true;
    return -1;
}

static bool is_component(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int at(const struct collect_reader *collect_reader)
{
    return collect_reader->dirs[collect_reader->depth];
}

/* With the name that arrived behind the path of the directory it is in. */
static int list_entry(struct collect_reader *collect_reader)
{
    const struct collect_entry *entry = &collect_reader->entry;
    struct collect_list_entry item = { .kind = (enum collect_kind)entry->kind,
                                       .mode = entry->mode,
                                       .flags = entry->flags,
                                       .size = entry->size };

    if (!collect_reader->part->list)
        return 0;
    if (__builtin_mul_overflow(entry->mtime_s, 1000000000, &item.mtime_ns) ||
        __builtin_add_overflow(item.mtime_ns, (int64_t)entry->mtime_ns, &item.mtime_ns))
        item.mtime_ns = 0;
    memcpy(collect_reader->path + collect_reader->path_len[collect_reader->depth],
           collect_reader->name, entry->name_len + 1);
    if (collect_list_add(collect_reader->part->list, item, collect_reader->path) < 0)
        return refuse(collect_reader, "does not fit into memory");
    return 0;
}

static int enter(struct collect_reader *collect_reader)
{
    size_t len =
        collect_reader->path_len[collect_reader->depth] + collect_reader->entry.name_len + 1;
    int fd;

    if (collect_reader->depth == COLLECT_MAX_DEPTH)
        return refuse(collect_reader, "has too many directories in one another");
    if (len > COLLECT_MAX_PATH)
        return refuse(collect_reader, "has a path that is too long");
    if (list_entry(collect_reader) < 0)
        return -1;
    if (mkdirat(at(collect_reader), collect_reader->name,
                collect_reader->part->list ? 0700 : 0755) < 0)
        return cannot_write(collect_reader);
    fd = openat(at(collect_reader), collect_reader->name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(collect_reader);
    memcpy(collect_reader->path + len - 1 - collect_reader->entry.name_len, collect_reader->name,
           collect_reader->entry.name_len);
    collect_reader->path[len - 1] = '/';
    collect_reader->dirs[++collect_reader->depth] = fd;
    collect_reader->path_len[collect_reader->depth] = len;
    return 0;
}

/* As init saw it; nothing depends on its success. */
static void set_times(int fd, const struct collect_entry *entry)
{
    const struct timespec times[2] = { { entry->mtime_s, (long)entry->mtime_ns },
                                       { entry->mtime_s, (long)entry->mtime_ns } };

    (void)futimens(fd, times);
}

static int leave(struct collect_reader *collect_reader)
{
    if (collect_reader->depth == 0)
        return refuse(collect_reader, "leaves its own directory");
    set_times(at(collect_reader), &collect_reader->entry);
    close(collect_reader->dirs[collect_reader->depth--]);
    return 0;
}

/* A stage's layer is used by programs that read holes as zeros: there sizes count.  Otherwise it is the bytes that
 * come, and sizes only where they are absurd. */
static int afford(struct collect_reader *collect_reader)
{
    uint64_t factor = collect_reader->part->list ? COLLECT_SIZE_PER_BYTE : 1;
    uint64_t most = collect_reader->max_bytes > UINT64_MAX / factor
                        ? UINT64_MAX
                        : collect_reader->max_bytes * factor;

    if (collect_reader->entry.size > most - collect_reader->sizes)
        return refuse(collect_reader, "is too large; raise its limit 'disk'");
    collect_reader->sizes += collect_reader->entry.size;
    return 0;
}

static int open_file(struct collect_reader *collect_reader)
{
    mode_t mode = collect_reader->entry.mode & 0111 ? 0755 : 0644;

    if (afford(collect_reader) < 0 || list_entry(collect_reader) < 0)
        return -1;
    collect_reader->file = openat(at(collect_reader), collect_reader->name,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (collect_reader->file < 0 ||
        (!collect_reader->part->list && fchmod(collect_reader->file, mode) < 0))
        return cannot_write(collect_reader);
    collect_reader->written = 0;
    collect_reader->state = TAKES_PIECE;
    return 0;
}

static int open_link(struct collect_reader *collect_reader)
{
    if (collect_reader->entry.size == 0 || collect_reader->entry.size > COLLECT_MAX_LINK)
        return refuse(collect_reader, "has a link that is too long");
    collect_reader->state = TAKES_LINK;
    return list_entry(collect_reader);
}

static int make_link(struct collect_reader *collect_reader)
{
    collect_reader->link[collect_reader->have] = '\0';
    collect_reader->state = TAKES_HEAD;
    if (strlen(collect_reader->link) != collect_reader->entry.size)
        return refuse(collect_reader, "has a link that is none");
    return symlinkat(collect_reader->link, at(collect_reader), collect_reader->name) < 0
               ? cannot_write(collect_reader)
               : 0;
}

/* Back to the top of the part, wherever it was. */
static void leave_all(struct collect_reader *collect_reader)
{
    while (collect_reader->depth > 0)
        close(collect_reader->dirs[collect_reader->depth--]);
}

static int end_part(struct collect_reader *collect_reader)
{
    if (collect_reader->depth > 0)
        return refuse(collect_reader, "did not arrive whole");
    if (collect_reader->part)
        collect_reader->part->complete = !collect_reader->part->failure.code;
    return 0;
}

static int begin_part(struct collect_reader *collect_reader)
{
    uint64_t index = collect_reader->entry.size;

    if (end_part(collect_reader) < 0)
        return -1;
    if (index >= collect_reader->n_parts ||
        (collect_reader->part && &collect_reader->parts[index] <= collect_reader->part))
        return refuse(collect_reader, "arrived garbled");
    collect_reader->part = &collect_reader->parts[index];
    collect_reader->dirs[0] = collect_reader->part->dir_fd;
    return 0;
}

static int end_all(struct collect_reader *collect_reader)
{
    if (end_part(collect_reader) < 0)
        return -1;
    collect_reader->complete = !collect_reader->failure.code;
    collect_reader->broken = true; /* what follows is nothing of ours */
    return 0;
}

/* The part ends here, the others do not. */
static int told_failure(struct collect_reader *collect_reader)
{
    static const struct {
        int number;
        const char *reason;
    } reasons[] = {
        { EFBIG, "is too large; raise its limit 'disk'" },
        { EDQUOT, "has too many files; raise its limit 'inodes'" },
        { ELOOP, "has too many directories in one another" },
        { ENAMETOOLONG, "has a path that is too long" },
        { EMFILE, "needs more open files at once to be read; raise its limit 'open-files'" },
    };
    sbr_error failure = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (collect_reader->entry.size == (uint64_t)reasons[i].number)
            err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s",
                    maker(collect_reader->part), reasons[i].reason);
    if (!failure.code) {
        errno = (int)collect_reader->entry.size;
        err_set_errno(&failure, "collect", "cannot collect '%.100s' from the sandbox",
                      collect_reader->name);
        failure.code = SBR_E_DENIED; /* a stranger made it so */
    }
    note(collect_reader, &failure);
    leave_all(collect_reader);
    return 0;
}

static int only_list(struct collect_reader *collect_reader)
{
    return list_entry(collect_reader);
}

/* What each kind asks for, by its number. */
static const struct {
    int (*begin)(struct collect_reader *collect_reader);
    bool named;    /* and counted */
    bool anywhere; /* not only within a part */
} pools[] = {
    [COLLECT_END] = { end_all, .anywhere = true },
    [COLLECT_PART] = { begin_part, .anywhere = true },
    [COLLECT_ENTER] = { enter, .named = true },
    [COLLECT_LEAVE] = { leave, .named = false },
    [COLLECT_FILE] = { open_file, .named = true },
    [COLLECT_LINK] = { open_link, .named = true },
    [COLLECT_GONE] = { only_list, .named = true },
    [COLLECT_OTHER] = { only_list, .named = true },
    [COLLECT_SKIPPED] = { only_list, .named = true },
    [COLLECT_FAILED] = { told_failure, .named = false },
};

/* The head of an entry and its name are complete. */
static void begin(struct collect_reader *collect_reader)
{
    uint32_t kind = collect_reader->entry.kind;

    collect_reader->have = 0;
    memcpy(collect_reader->name, collect_reader->head + sizeof(collect_reader->entry),
           collect_reader->entry.name_len);
    collect_reader->name[collect_reader->entry.name_len] = '\0';
    if (kind >= ARRAY_LEN(pools) || !pools[kind].begin ||
        (!pools[kind].anywhere && (!collect_reader->part || collect_reader->part->failure.code)))
        refuse(collect_reader, "arrived garbled");
    else if (pools[kind].named && (strlen(collect_reader->name) != collect_reader->entry.name_len ||
                                   !is_component(collect_reader->name)))
        refuse(collect_reader, "has a name that is none");
    else if (pools[kind].named && ++collect_reader->entries > collect_reader->max_entries)
        refuse(collect_reader, "has too many files; raise its limit 'inodes'");
    else
        pools[kind].begin(collect_reader);
}

/* Fills `to` up to `size`; the number of bytes used. */
static size_t gather(struct collect_reader *collect_reader, void *to, size_t size,
                     const unsigned char *data, size_t len)
{
    size_t n = size - collect_reader->have < len ? size - collect_reader->have : len;

    memcpy((unsigned char *)to + collect_reader->have, data, n);
    collect_reader->have += n;
    return n;
}

static size_t take_head(struct collect_reader *collect_reader, const unsigned char *data,
                        size_t len)
{
    const size_t fixed = sizeof(collect_reader->entry);
    size_t want = collect_reader->have < fixed ? fixed : fixed + collect_reader->entry.name_len;
    size_t n = gather(collect_reader, collect_reader->head, want, data, len);

    if (collect_reader->have < want)
        return n;
    if (want == fixed)
        memcpy(&collect_reader->entry, collect_reader->head, fixed);
    if (collect_reader->entry.name_len > COLLECT_MAX_NAME)
        refuse(collect_reader, "has a name that is too long");
    else if (collect_reader->have == fixed + collect_reader->entry.name_len)
        begin(collect_reader);
    return n;
}

static size_t take_link(struct collect_reader *collect_reader, const unsigned char *data,
                        size_t len)
{
    size_t n = gather(collect_reader, collect_reader->link, collect_reader->entry.size, data, len);

    if (collect_reader->have == collect_reader->entry.size) {
        make_link(collect_reader);
        collect_reader->have = 0;
    }
    return n;
}

static void end_file(struct collect_reader *collect_reader)
{
    bool failed = collect_reader->written < collect_reader->entry.size &&
                  ftruncate(collect_reader->file, (off_t)collect_reader->entry.size) < 0;

    set_times(collect_reader->file, &collect_reader->entry);
    if (close(collect_reader->file) < 0 || failed)
        cannot_write(collect_reader);
    collect_reader->file = -1;
    collect_reader->state = TAKES_HEAD;
}

static size_t take_piece(struct collect_reader *collect_reader, const unsigned char *data,
                         size_t len)
{
    struct collect_piece *piece = &collect_reader->piece;
    size_t n = gather(collect_reader, piece, sizeof(*piece), data, len);

    if (collect_reader->have < sizeof(*piece))
        return n;
    collect_reader->have = 0;
    if (piece->len == 0)
        end_file(collect_reader);
    else if (piece->offset < collect_reader->written ||
             piece->offset > collect_reader->entry.size ||
             piece->len > collect_reader->entry.size - piece->offset)
        refuse(collect_reader, "arrived garbled");
    else if (piece->len > collect_reader->max_bytes - collect_reader->bytes)
        refuse(collect_reader, "is too large; raise its limit 'disk'");
    else
        collect_reader->state = TAKES_DATA;
    return n;
}

static int write_at(int fd, const unsigned char *data, size_t len, uint64_t offset)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, (off_t)offset);

        if (n < 0 && errno != EINTR)
            return -1;
        n = n < 0 ? 0 : n;
        data += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static size_t take_data(struct collect_reader *collect_reader, const unsigned char *data,
                        size_t len)
{
    struct collect_piece *piece = &collect_reader->piece;
    size_t n = len < piece->len ? len : (size_t)piece->len;

    if (write_at(collect_reader->file, data, n, piece->offset) < 0)
        cannot_write(collect_reader);
    collect_reader->bytes += n;
    piece->offset += n;
    piece->len -= n;
    collect_reader->written = piece->offset;
    if (piece->len == 0)
        collect_reader->state = TAKES_PIECE;
    return n;
}

void collect_reader_take(struct collect_reader *collect_reader, const unsigned char *data,
                         size_t len)
{
    static size_t (*const takes[])(struct collect_reader *, const unsigned char *,
                                   size_t) = { [TAKES_HEAD] = take_head,
                                               [TAKES_LINK] = take_link,
                                               [TAKES_PIECE] = take_piece,
                                               [TAKES_DATA] = take_data };

    while (len > 0 && !collect_reader->broken) {
        size_t n = takes[collect_reader->state](collect_reader, data, len);

        data += n;
        len -= n;
    }
}

static void collect_reader_close(struct collect_reader *collect_reader)
{
    if (collect_reader->fd >= 0) {
        loop_remove(collect_reader->loop, collect_reader->fd);
        close(collect_reader->fd);
    }
    collect_reader->fd = -1;
}

/* True while there may be more. */
static bool read_some(struct collect_reader *collect_reader, unsigned char *chunk)
{
    ssize_t n = read(collect_reader->fd, chunk, CHUNK);

    if (n > 0)
        collect_reader_take(collect_reader, chunk, (size_t)n);
    else if (n == 0 || errno != EAGAIN)
        collect_reader_close(collect_reader);
    return n > 0;
}

/* Whether anything was there. */
static bool read_turn(struct collect_reader *collect_reader)
{
    unsigned char *chunk = malloc(CHUNK);
    int i = 0;

    if (!chunk)
        refuse(collect_reader, "does not fit into memory");
    while (chunk && i < CHUNKS_PER_TURN && collect_reader->fd >= 0 &&
           read_some(collect_reader, chunk))
        i++;
    if (collect_reader->broken) /* init, writing on, learns that nobody reads */
        collect_reader_close(collect_reader);
    free(chunk);
    return i > 0;
}

static void collect_reader_ready(void *context, uint32_t events)
{
    struct collect_reader *collect_reader = context;
    void (*began)(void *) = collect_reader->began;

    (void)events;
    collect_reader->began = NULL;
    (void)read_turn(collect_reader);
    if (began)
        began(collect_reader->context);
}

int collect_reader_start(struct collect_reader *collect_reader, int fd, struct loop *loop,
                         sbr_error *err)
{
    collect_reader->fd = fd;
    collect_reader->loop = loop;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        loop_add(loop, fd, EPOLLIN, collect_reader_ready, collect_reader) < 0)
        return err_set_errno(err, "collect", "cannot watch for what comes out of the sandbox");
    return 0;
}

void collect_reader_finish(struct collect_reader *collect_reader)
{
    while (collect_reader->fd >= 0)
        if (!read_turn(collect_reader))
            collect_reader_close(collect_reader);
    if (!collect_reader->complete && !collect_reader->failure.code)
        refuse(collect_reader, "did not arrive whole");
    for (size_t i = 0; i < collect_reader->n_parts; i++) {
        struct collect_part *part = &collect_reader->parts[i];

        if (!part->complete && !part->failure.code && collect_reader->failure.code)
            part->failure = collect_reader->failure;
        else if (!part->complete && !part->failure.code)
            err_set(&part->failure, SBR_E_DENIED, "collect", "what the %s did not arrive whole",
                    maker(part));
    }
}

void collect_reader_done(struct collect_reader *collect_reader)
{
    collect_reader_close(collect_reader);
    if (collect_reader->file >= 0)
        close(collect_reader->file);
    collect_reader->file = -1;
    leave_all(collect_reader);
}
