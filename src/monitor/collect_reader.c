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

void intake_init(struct intake *intake, struct intake_part *parts, size_t n_parts,
                 uint64_t max_bytes, uint64_t max_entries)
{
    *intake = (struct intake){ .max_bytes = max_bytes,
                               .max_entries = max_entries,
                               .parts = parts,
                               .n_parts = n_parts,
                               .fd = -1,
                               .file = -1 };
    intake->dirs[0] = -1;
}

/* Of the part, and of the whole where it is the first. */
static void note(struct intake *intake, const sbr_error *failure)
{
    if (intake->part) {
        intake->part->complete = false;
        if (!intake->part->failure.code)
            intake->part->failure = *failure;
    }
    if (!intake->failure.code)
        intake->failure = *failure;
}

/* Who made it, in a sentence: only what a stage makes has no list. */
static const char *maker(const struct intake_part *part)
{
    return part && part->list ? "program left" : "stage made";
}

static int refuse(struct intake *intake, const char *reason)
{
    sbr_error failure;

    err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s", maker(intake->part), reason);
    note(intake, &failure);
    intake->broken = true;
    return -1;
}

static int cannot_write(struct intake *intake)
{
    sbr_error failure;

    err_set_errno(&failure, "collect", "cannot keep '%.100s'", intake->name);
    note(intake, &failure);
    intake->broken = true;
    return -1;
}

static bool is_component(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int at(const struct intake *intake)
{
    return intake->dirs[intake->depth];
}

/* With the name that arrived behind the path of the directory it is in. */
static int list_entry(struct intake *intake)
{
    const struct collect_entry *entry = &intake->entry;
    struct intake_entry item = { .kind = (enum collect_kind)entry->kind,
                                 .mode = entry->mode,
                                 .flags = entry->flags,
                                 .size = entry->size };

    if (!intake->part->list)
        return 0;
    if (__builtin_mul_overflow(entry->mtime_s, 1000000000, &item.mtime_ns) ||
        __builtin_add_overflow(item.mtime_ns, (int64_t)entry->mtime_ns, &item.mtime_ns))
        item.mtime_ns = 0;
    memcpy(intake->path + intake->path_len[intake->depth], intake->name, entry->name_len + 1);
    if (intake_list_add(intake->part->list, item, intake->path) < 0)
        return refuse(intake, "does not fit into memory");
    return 0;
}

static int enter(struct intake *intake)
{
    size_t len = intake->path_len[intake->depth] + intake->entry.name_len + 1;
    int fd;

    if (intake->depth == COLLECT_MAX_DEPTH)
        return refuse(intake, "has too many directories in one another");
    if (len > COLLECT_MAX_PATH)
        return refuse(intake, "has a path that is too long");
    if (list_entry(intake) < 0)
        return -1;
    if (mkdirat(at(intake), intake->name, intake->part->list ? 0700 : 0755) < 0)
        return cannot_write(intake);
    fd = openat(at(intake), intake->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(intake);
    memcpy(intake->path + len - 1 - intake->entry.name_len, intake->name, intake->entry.name_len);
    intake->path[len - 1] = '/';
    intake->dirs[++intake->depth] = fd;
    intake->path_len[intake->depth] = len;
    return 0;
}

/* As init saw it; nothing depends on its success. */
static void set_times(int fd, const struct collect_entry *entry)
{
    const struct timespec times[2] = { { entry->mtime_s, (long)entry->mtime_ns },
                                       { entry->mtime_s, (long)entry->mtime_ns } };

    (void)futimens(fd, times);
}

static int leave(struct intake *intake)
{
    if (intake->depth == 0)
        return refuse(intake, "leaves its own directory");
    set_times(at(intake), &intake->entry);
    close(intake->dirs[intake->depth--]);
    return 0;
}

/* A stage's layer is used by programs that read holes as zeros: there sizes count.  Otherwise it is the bytes that
 * come, and sizes only where they are absurd. */
static int afford(struct intake *intake)
{
    uint64_t factor = intake->part->list ? COLLECT_SIZE_PER_BYTE : 1;
    uint64_t most =
        intake->max_bytes > UINT64_MAX / factor ? UINT64_MAX : intake->max_bytes * factor;

    if (intake->entry.size > most - intake->sizes)
        return refuse(intake, "is too large; raise its limit 'disk'");
    intake->sizes += intake->entry.size;
    return 0;
}

static int open_file(struct intake *intake)
{
    mode_t mode = intake->entry.mode & 0111 ? 0755 : 0644;

    if (afford(intake) < 0 || list_entry(intake) < 0)
        return -1;
    intake->file = openat(at(intake), intake->name,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (intake->file < 0 || (!intake->part->list && fchmod(intake->file, mode) < 0))
        return cannot_write(intake);
    intake->written = 0;
    intake->state = TAKES_PIECE;
    return 0;
}

static int open_link(struct intake *intake)
{
    if (intake->entry.size == 0 || intake->entry.size > COLLECT_MAX_LINK)
        return refuse(intake, "has a link that is too long");
    intake->state = TAKES_LINK;
    return list_entry(intake);
}

static int make_link(struct intake *intake)
{
    intake->link[intake->have] = '\0';
    intake->state = TAKES_HEAD;
    if (strlen(intake->link) != intake->entry.size)
        return refuse(intake, "has a link that is none");
    return symlinkat(intake->link, at(intake), intake->name) < 0 ? cannot_write(intake) : 0;
}

/* Back to the top of the part, wherever it was. */
static void leave_all(struct intake *intake)
{
    while (intake->depth > 0)
        close(intake->dirs[intake->depth--]);
}

static int end_part(struct intake *intake)
{
    if (intake->depth > 0)
        return refuse(intake, "did not arrive whole");
    if (intake->part)
        intake->part->complete = !intake->part->failure.code;
    return 0;
}

static int begin_part(struct intake *intake)
{
    uint64_t index = intake->entry.size;

    if (end_part(intake) < 0)
        return -1;
    if (index >= intake->n_parts || (intake->part && &intake->parts[index] <= intake->part))
        return refuse(intake, "arrived garbled");
    intake->part = &intake->parts[index];
    intake->dirs[0] = intake->part->dir_fd;
    return 0;
}

static int end_all(struct intake *intake)
{
    if (end_part(intake) < 0)
        return -1;
    intake->complete = !intake->failure.code;
    intake->broken = true; /* what follows is nothing of ours */
    return 0;
}

/* The part ends here, the others do not. */
static int told_failure(struct intake *intake)
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
        if (intake->entry.size == (uint64_t)reasons[i].number)
            err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s", maker(intake->part),
                    reasons[i].reason);
    if (!failure.code) {
        errno = (int)intake->entry.size;
        err_set_errno(&failure, "collect", "cannot collect '%.100s' from the sandbox",
                      intake->name);
        failure.code = SBR_E_DENIED; /* a stranger made it so */
    }
    note(intake, &failure);
    leave_all(intake);
    return 0;
}

static int only_list(struct intake *intake)
{
    return list_entry(intake);
}

/* What each kind asks for, by its number. */
static const struct {
    int (*begin)(struct intake *intake);
    bool named;    /* and counted */
    bool anywhere; /* not only within a part */
} kinds[] = {
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
static void begin(struct intake *intake)
{
    uint32_t kind = intake->entry.kind;

    intake->have = 0;
    memcpy(intake->name, intake->head + sizeof(intake->entry), intake->entry.name_len);
    intake->name[intake->entry.name_len] = '\0';
    if (kind >= ARRAY_LEN(kinds) || !kinds[kind].begin ||
        (!kinds[kind].anywhere && (!intake->part || intake->part->failure.code)))
        refuse(intake, "arrived garbled");
    else if (kinds[kind].named &&
             (strlen(intake->name) != intake->entry.name_len || !is_component(intake->name)))
        refuse(intake, "has a name that is none");
    else if (kinds[kind].named && ++intake->entries > intake->max_entries)
        refuse(intake, "has too many files; raise its limit 'inodes'");
    else
        kinds[kind].begin(intake);
}

/* Fills `to` up to `size`; the number of bytes used. */
static size_t gather(struct intake *intake, void *to, size_t size, const unsigned char *data,
                     size_t len)
{
    size_t n = size - intake->have < len ? size - intake->have : len;

    memcpy((unsigned char *)to + intake->have, data, n);
    intake->have += n;
    return n;
}

static size_t take_head(struct intake *intake, const unsigned char *data, size_t len)
{
    const size_t fixed = sizeof(intake->entry);
    size_t want = intake->have < fixed ? fixed : fixed + intake->entry.name_len;
    size_t n = gather(intake, intake->head, want, data, len);

    if (intake->have < want)
        return n;
    if (want == fixed)
        memcpy(&intake->entry, intake->head, fixed);
    if (intake->entry.name_len > COLLECT_MAX_NAME)
        refuse(intake, "has a name that is too long");
    else if (intake->have == fixed + intake->entry.name_len)
        begin(intake);
    return n;
}

static size_t take_link(struct intake *intake, const unsigned char *data, size_t len)
{
    size_t n = gather(intake, intake->link, intake->entry.size, data, len);

    if (intake->have == intake->entry.size) {
        make_link(intake);
        intake->have = 0;
    }
    return n;
}

static void end_file(struct intake *intake)
{
    bool failed = intake->written < intake->entry.size &&
                  ftruncate(intake->file, (off_t)intake->entry.size) < 0;

    set_times(intake->file, &intake->entry);
    if (close(intake->file) < 0 || failed)
        cannot_write(intake);
    intake->file = -1;
    intake->state = TAKES_HEAD;
}

static size_t take_piece(struct intake *intake, const unsigned char *data, size_t len)
{
    struct collect_piece *piece = &intake->piece;
    size_t n = gather(intake, piece, sizeof(*piece), data, len);

    if (intake->have < sizeof(*piece))
        return n;
    intake->have = 0;
    if (piece->len == 0)
        end_file(intake);
    else if (piece->offset < intake->written || piece->offset > intake->entry.size ||
             piece->len > intake->entry.size - piece->offset)
        refuse(intake, "arrived garbled");
    else if (piece->len > intake->max_bytes - intake->bytes)
        refuse(intake, "is too large; raise its limit 'disk'");
    else
        intake->state = TAKES_DATA;
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

static size_t take_data(struct intake *intake, const unsigned char *data, size_t len)
{
    struct collect_piece *piece = &intake->piece;
    size_t n = len < piece->len ? len : (size_t)piece->len;

    if (write_at(intake->file, data, n, piece->offset) < 0)
        cannot_write(intake);
    intake->bytes += n;
    piece->offset += n;
    piece->len -= n;
    intake->written = piece->offset;
    if (piece->len == 0)
        intake->state = TAKES_PIECE;
    return n;
}

void intake_take(struct intake *intake, const unsigned char *data, size_t len)
{
    static size_t (*const takes[])(struct intake *, const unsigned char *,
                                   size_t) = { [TAKES_HEAD] = take_head,
                                               [TAKES_LINK] = take_link,
                                               [TAKES_PIECE] = take_piece,
                                               [TAKES_DATA] = take_data };

    while (len > 0 && !intake->broken) {
        size_t n = takes[intake->state](intake, data, len);

        data += n;
        len -= n;
    }
}

static void intake_close(struct intake *intake)
{
    if (intake->fd >= 0) {
        loop_remove(intake->loop, intake->fd);
        close(intake->fd);
    }
    intake->fd = -1;
}

/* True while there may be more. */
static bool read_some(struct intake *intake, unsigned char *chunk)
{
    ssize_t n = read(intake->fd, chunk, CHUNK);

    if (n > 0)
        intake_take(intake, chunk, (size_t)n);
    else if (n == 0 || errno != EAGAIN)
        intake_close(intake);
    return n > 0;
}

/* Whether anything was there. */
static bool read_turn(struct intake *intake)
{
    unsigned char *chunk = malloc(CHUNK);
    int i = 0;

    if (!chunk)
        refuse(intake, "does not fit into memory");
    while (chunk && i < CHUNKS_PER_TURN && intake->fd >= 0 && read_some(intake, chunk))
        i++;
    if (intake->broken) /* init, writing on, learns that nobody reads */
        intake_close(intake);
    free(chunk);
    return i > 0;
}

static void intake_ready(void *context, uint32_t events)
{
    struct intake *intake = context;
    void (*began)(void *) = intake->began;

    (void)events;
    intake->began = NULL;
    (void)read_turn(intake);
    if (began)
        began(intake->context);
}

int intake_start(struct intake *intake, int fd, struct loop *loop, sbr_error *err)
{
    intake->fd = fd;
    intake->loop = loop;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || loop_add(loop, fd, EPOLLIN, intake_ready, intake) < 0)
        return err_set_errno(err, "collect", "cannot watch for what comes out of the sandbox");
    return 0;
}

void intake_finish(struct intake *intake)
{
    while (intake->fd >= 0)
        if (!read_turn(intake))
            intake_close(intake);
    if (!intake->complete && !intake->failure.code)
        refuse(intake, "did not arrive whole");
    for (size_t i = 0; i < intake->n_parts; i++) {
        struct intake_part *part = &intake->parts[i];

        if (!part->complete && !part->failure.code && intake->failure.code)
            part->failure = intake->failure;
        else if (!part->complete && !part->failure.code)
            err_set(&part->failure, SBR_E_DENIED, "collect", "what the %s did not arrive whole",
                    maker(part));
    }
}

void intake_done(struct intake *intake)
{
    intake_close(intake);
    if (intake->file >= 0)
        close(intake->file);
    intake->file = -1;
    leave_all(intake);
}
