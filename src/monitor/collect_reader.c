#include "monitor/collect_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void collect_reader_init(struct collect_reader *reader, struct collect_part *parts, size_t n_parts,
                         uint64_t max_bytes, uint64_t max_entries)
{
    *reader = (struct collect_reader){ .max_bytes = max_bytes,
                                       .max_entries = max_entries,
                                       .parts = parts,
                                       .n_parts = n_parts,
                                       .fd = -1,
                                       .file = -1 };
    reader->dirs[0] = -1;
}

/* Records the part's failure, and that of the whole if it is the first. */
static void note(struct collect_reader *reader, const sbr_error *failure)
{
    if (reader->part) {
        reader->part->complete = false;
        if (!reader->part->failure.code)
            reader->part->failure = *failure;
    }
    if (!reader->failure.code)
        reader->failure = *failure;
}

/* The maker, for a sentence: only what a stage makes has no list. */
static const char *maker(const struct collect_part *part)
{
    return part && part->list ? "program left" : "stage made";
}

int collect_reader_refuse(struct collect_reader *reader, const char *reason)
{
    sbr_error failure;

    err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s", maker(reader->part), reason);
    note(reader, &failure);
    reader->broken = true;
    return -1;
}

static int cannot_write(struct collect_reader *reader)
{
    sbr_error failure;

    err_set_errno(&failure, "collect", "cannot keep '%.100s'", reader->name);
    note(reader, &failure);
    reader->broken = true;
    return -1;
}

static bool is_component(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int at(const struct collect_reader *reader)
{
    return reader->dirs[reader->depth];
}

/* The path is that of the current directory plus the name that arrived. */
static int list_entry(struct collect_reader *reader)
{
    const struct collect_entry *entry = &reader->entry;
    struct collect_list_entry item = { .kind = (enum collect_kind)entry->kind,
                                       .mode = entry->mode,
                                       .flags = entry->flags,
                                       .size = entry->size };

    if (!reader->part->list)
        return 0;
    if (__builtin_mul_overflow(entry->mtime_s, 1000000000, &item.mtime_ns) ||
        __builtin_add_overflow(item.mtime_ns, (int64_t)entry->mtime_ns, &item.mtime_ns))
        item.mtime_ns = 0;
    memcpy(reader->path + reader->path_len[reader->depth], reader->name, entry->name_len + 1);
    if (collect_list_add(reader->part->list, item, reader->path) < 0)
        return collect_reader_refuse(reader, "does not fit into memory");
    return 0;
}

static int enter(struct collect_reader *reader)
{
    size_t len = reader->path_len[reader->depth] + reader->entry.name_len + 1;
    int fd;

    if (reader->depth == COLLECT_MAX_DEPTH)
        return collect_reader_refuse(reader, "has too many directories in one another");
    if (len > COLLECT_MAX_PATH)
        return collect_reader_refuse(reader, "has a path that is too long");
    if (list_entry(reader) < 0)
        return -1;
    if (mkdirat(at(reader), reader->name, reader->part->list ? 0700 : 0755) < 0)
        return cannot_write(reader);
    fd = openat(at(reader), reader->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(reader);
    memcpy(reader->path + len - 1 - reader->entry.name_len, reader->name, reader->entry.name_len);
    reader->path[len - 1] = '/';
    reader->dirs[++reader->depth] = fd;
    reader->path_len[reader->depth] = len;
    return 0;
}

/* As init saw them; nothing depends on success. */
static void set_times(int fd, const struct collect_entry *entry)
{
    const struct timespec times[2] = { { entry->mtime_s, (long)entry->mtime_ns },
                                       { entry->mtime_s, (long)entry->mtime_ns } };

    (void)futimens(fd, times);
}

static int leave(struct collect_reader *reader)
{
    if (reader->depth == 0)
        return collect_reader_refuse(reader, "leaves its own directory");
    set_times(at(reader), &reader->entry);
    close(reader->dirs[reader->depth--]);
    return 0;
}

/* Programs that use a stage's layer read holes as zeros: there sizes count.  Otherwise the bytes
 * that arrive count, and sizes only where they are absurd. */
static int afford(struct collect_reader *reader)
{
    uint64_t factor = reader->part->list ? COLLECT_SIZE_PER_BYTE : 1;
    uint64_t most =
        reader->max_bytes > UINT64_MAX / factor ? UINT64_MAX : reader->max_bytes * factor;

    if (reader->entry.size > most - reader->sizes)
        return collect_reader_refuse(reader, "is too large; raise its limit 'disk'");
    reader->sizes += reader->entry.size;
    return 0;
}

static int open_file(struct collect_reader *reader)
{
    mode_t mode = reader->entry.mode & 0111 ? 0755 : 0644;

    if (afford(reader) < 0 || list_entry(reader) < 0)
        return -1;
    reader->file = openat(at(reader), reader->name,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (reader->file < 0 || (!reader->part->list && fchmod(reader->file, mode) < 0))
        return cannot_write(reader);
    reader->written = 0;
    reader->state = TAKES_PIECE;
    return 0;
}

static int open_link(struct collect_reader *reader)
{
    if (reader->entry.size == 0 || reader->entry.size > COLLECT_MAX_LINK)
        return collect_reader_refuse(reader, "has a link that is too long");
    reader->state = TAKES_LINK;
    return list_entry(reader);
}

static int make_link(struct collect_reader *reader)
{
    reader->link[reader->have] = '\0';
    reader->state = TAKES_HEAD;
    if (strlen(reader->link) != reader->entry.size)
        return collect_reader_refuse(reader, "has a link that is none");
    return symlinkat(reader->link, at(reader), reader->name) < 0 ? cannot_write(reader) : 0;
}

/* Returns to the top of the part. */
static void leave_all(struct collect_reader *reader)
{
    while (reader->depth > 0)
        close(reader->dirs[reader->depth--]);
}

static int end_part(struct collect_reader *reader)
{
    if (reader->depth > 0)
        return collect_reader_refuse(reader, "did not arrive whole");
    if (reader->part)
        reader->part->complete = !reader->part->failure.code;
    return 0;
}

static int begin_part(struct collect_reader *reader)
{
    uint64_t index = reader->entry.size;

    if (end_part(reader) < 0)
        return -1;
    if (index >= reader->n_parts || (reader->part && &reader->parts[index] <= reader->part))
        return collect_reader_refuse(reader, "arrived garbled");
    reader->part = &reader->parts[index];
    reader->dirs[0] = reader->part->dir_fd;
    return 0;
}

static int end_all(struct collect_reader *reader)
{
    if (end_part(reader) < 0)
        return -1;
    reader->complete = !reader->failure.code;
    reader->ended = reader->broken = true; /* ignore what follows */
    return 0;
}

/* Ends this part, but not the others. */
static int reported_failure(struct collect_reader *reader)
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
        if (reader->entry.size == (uint64_t)reasons[i].number)
            err_set(&failure, SBR_E_DENIED, "collect", "what the %s %s", maker(reader->part),
                    reasons[i].reason);
    if (!failure.code) {
        errno = (int)reader->entry.size;
        err_set_errno(&failure, "collect", "cannot collect '%.100s' from the sandbox",
                      reader->name);
        failure.code = SBR_E_DENIED; /* the untrusted program caused it */
    }
    note(reader, &failure);
    leave_all(reader);
    return 0;
}

static int only_list(struct collect_reader *reader)
{
    return list_entry(reader);
}

/* The handler of each entry, by its number. */
static const struct {
    int (*begin)(struct collect_reader *reader);
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
    [COLLECT_FAILED] = { reported_failure, .named = false },
};

/* The head of an entry and its name are complete. */
static void begin(struct collect_reader *reader)
{
    uint32_t kind = reader->entry.kind;

    reader->have = 0;
    memcpy(reader->name, reader->head + sizeof(reader->entry), reader->entry.name_len);
    reader->name[reader->entry.name_len] = '\0';
    if (kind >= ARRAY_LEN(kinds) || !kinds[kind].begin ||
        (!kinds[kind].anywhere && (!reader->part || reader->part->failure.code)))
        collect_reader_refuse(reader, "arrived garbled");
    else if (kinds[kind].named &&
             (strlen(reader->name) != reader->entry.name_len || !is_component(reader->name)))
        collect_reader_refuse(reader, "has a name that is none");
    else if (kinds[kind].named && ++reader->entries > reader->max_entries)
        collect_reader_refuse(reader, "has too many files; raise its limit 'inodes'");
    else
        kinds[kind].begin(reader);
}

/* Fills `to` up to `size`; returns the number of bytes used. */
static size_t gather(struct collect_reader *reader, void *to, size_t size,
                     const unsigned char *data, size_t len)
{
    size_t n = size - reader->have < len ? size - reader->have : len;

    memcpy((unsigned char *)to + reader->have, data, n);
    reader->have += n;
    return n;
}

static size_t take_head(struct collect_reader *reader, const unsigned char *data, size_t len)
{
    const size_t fixed = sizeof(reader->entry);
    size_t want = reader->have < fixed ? fixed : fixed + reader->entry.name_len;
    size_t n = gather(reader, reader->head, want, data, len);

    if (reader->have < want)
        return n;
    if (want == fixed)
        memcpy(&reader->entry, reader->head, fixed);
    if (reader->entry.name_len > COLLECT_MAX_NAME)
        collect_reader_refuse(reader, "has a name that is too long");
    else if (reader->have == fixed + reader->entry.name_len)
        begin(reader);
    return n;
}

static size_t take_link(struct collect_reader *reader, const unsigned char *data, size_t len)
{
    size_t n = gather(reader, reader->link, reader->entry.size, data, len);

    if (reader->have == reader->entry.size) {
        make_link(reader);
        reader->have = 0;
    }
    return n;
}

static void end_file(struct collect_reader *reader)
{
    bool failed = reader->written < reader->entry.size &&
                  ftruncate(reader->file, (off_t)reader->entry.size) < 0;

    set_times(reader->file, &reader->entry);
    if (close(reader->file) < 0 || failed)
        cannot_write(reader);
    reader->file = -1;
    reader->state = TAKES_HEAD;
}

static size_t take_piece(struct collect_reader *reader, const unsigned char *data, size_t len)
{
    struct collect_piece *piece = &reader->piece;
    size_t n = gather(reader, piece, sizeof(*piece), data, len);

    if (reader->have < sizeof(*piece))
        return n;
    reader->have = 0;
    if (piece->len == 0)
        end_file(reader);
    else if (piece->offset < reader->written || piece->offset > reader->entry.size ||
             piece->len > reader->entry.size - piece->offset)
        collect_reader_refuse(reader, "arrived garbled");
    else if (piece->len > reader->max_bytes - reader->bytes)
        collect_reader_refuse(reader, "is too large; raise its limit 'disk'");
    else
        reader->state = TAKES_DATA;
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

static size_t take_data(struct collect_reader *reader, const unsigned char *data, size_t len)
{
    struct collect_piece *piece = &reader->piece;
    size_t n = len < piece->len ? len : (size_t)piece->len;

    if (write_at(reader->file, data, n, piece->offset) < 0)
        cannot_write(reader);
    reader->bytes += n;
    piece->offset += n;
    piece->len -= n;
    reader->written = piece->offset;
    if (piece->len == 0)
        reader->state = TAKES_PIECE;
    return n;
}

void collect_reader_take(struct collect_reader *reader, const unsigned char *data, size_t len)
{
    static size_t (*const takes[])(struct collect_reader *, const unsigned char *,
                                   size_t) = { [TAKES_HEAD] = take_head,
                                               [TAKES_LINK] = take_link,
                                               [TAKES_PIECE] = take_piece,
                                               [TAKES_DATA] = take_data };

    while (len > 0 && !reader->broken) {
        size_t n = takes[reader->state](reader, data, len);

        data += n;
        len -= n;
    }
}

int collect_reader_next(struct collect_reader *reader, struct collect_part *parts, sbr_error *err)
{
    if (reader->fd < 0 || (reader->broken && !reader->ended))
        return err_set(err, SBR_E_DENIED, "collect",
                       "what the program leaves can be taken no more, because it broke earlier");
    leave_all(reader);
    reader->parts = parts;
    reader->part = NULL;
    reader->state = TAKES_HEAD;
    reader->have = 0;
    reader->bytes = reader->sizes = reader->entries = 0;
    reader->complete = reader->ended = reader->broken = false;
    reader->failure = (sbr_error){ 0 };
    return 0;
}

void collect_reader_judge(struct collect_reader *reader)
{
    if (!reader->complete && !reader->failure.code)
        collect_reader_refuse(reader, "did not arrive whole");
    for (size_t i = 0; i < reader->n_parts; i++) {
        struct collect_part *part = &reader->parts[i];

        if (!part->complete && !part->failure.code && reader->failure.code)
            part->failure = reader->failure;
        else if (!part->complete && !part->failure.code)
            err_set(&part->failure, SBR_E_DENIED, "collect", "what the %s did not arrive whole",
                    maker(part));
    }
}

void collect_reader_leave(struct collect_reader *reader)
{
    if (reader->file >= 0)
        close(reader->file);
    reader->file = -1;
    leave_all(reader);
}
