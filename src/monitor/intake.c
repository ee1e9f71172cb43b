#include "monitor/intake.h"

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
#define LINK_MAX_TEXT 4096
#define PATH_MOST 2600 /* with what stands before it, a path that can be opened by name */

void intake_init(struct intake *intake, int tree_fd, uint64_t max_bytes, uint64_t max_entries)
{
    *intake =
        (struct intake){ .max_bytes = max_bytes, .max_entries = max_entries, .fd = -1, .file = -1 };
    intake->dirs[0] = tree_fd;
}

static int refuse(struct intake *intake, const char *reason)
{
    if (!intake->failure.code)
        err_set(&intake->failure, SBR_E_DENIED, "collect", "what the stage made %s", reason);
    return -1;
}

static int cannot_write(struct intake *intake, const char *name)
{
    if (!intake->failure.code)
        err_set_errno(&intake->failure, "collect", "cannot keep '%.100s'", name);
    return -1;
}

static bool is_component(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int enter(struct intake *intake, const char *name)
{
    int at = intake->dirs[intake->depth], fd;

    if (intake->depth == COLLECT_MAX_DEPTH)
        return refuse(intake, "has too many directories in one another");
    if (intake->path_len[intake->depth] + strlen(name) + 1 > PATH_MOST)
        return refuse(intake, "has a path that is too long");
    if (mkdirat(at, name, 0755) < 0)
        return cannot_write(intake, name);
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(intake, name);
    intake->path_len[intake->depth + 1] = intake->path_len[intake->depth] + strlen(name) + 1;
    intake->dirs[++intake->depth] = fd;
    return 0;
}

/* As init saw it; nothing depends on its success. */
static void set_times(int fd, const struct collect_entry *entry)
{
    const struct timespec times[2] = { { entry->mtime_s, (long)entry->mtime_ns },
                                       { entry->mtime_s, (long)entry->mtime_ns } };

    (void)futimens(fd, times);
}

static int leave(struct intake *intake, const struct collect_entry *entry)
{
    if (intake->depth == 0)
        return refuse(intake, "leaves its own directory");
    set_times(intake->dirs[intake->depth], entry);
    close(intake->dirs[intake->depth--]);
    return 0;
}

static int open_file(struct intake *intake, const char *name, const struct collect_entry *entry)
{
    intake->file = openat(intake->dirs[intake->depth], name,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (intake->file < 0 || fchmod(intake->file, entry->mode & 0111 ? 0755 : 0644) < 0)
        return cannot_write(intake, name);
    intake->left = entry->size;
    return 0;
}

static int open_link(struct intake *intake, const struct collect_entry *entry)
{
    if (entry->size == 0 || entry->size > LINK_MAX_TEXT)
        return refuse(intake, "has a link that is too long");
    intake->link = calloc(1, entry->size + 1);
    intake->link_len = 0;
    intake->left = entry->size;
    return intake->link ? 0 : refuse(intake, "does not fit into memory");
}

static int told_failure(struct intake *intake, const char *name, uint64_t number)
{
    errno = (int)number;
    if (!intake->failure.code)
        err_set_errno(&intake->failure, "collect", "cannot collect '%.100s' from the sandbox",
                      name);
    intake->failure.code = SBR_E_DENIED; /* a stranger made it so */
    return -1;
}

static const char *head_name(const struct intake *intake)
{
    return (const char *)intake->head + sizeof(struct collect_entry);
}

/* The head of an entry is complete. */
static int begin(struct intake *intake, const struct collect_entry *entry)
{
    char name[COLLECT_MAX_NAME + 1];
    bool named =
        entry->kind == COLLECT_ENTER || entry->kind == COLLECT_FILE || entry->kind == COLLECT_LINK;

    memcpy(name, head_name(intake), entry->name_len);
    name[entry->name_len] = '\0';
    if (named && (strlen(name) != entry->name_len || !is_component(name)))
        return refuse(intake, "has a name that is none");
    if (named && ++intake->entries > intake->max_entries)
        return refuse(intake, "has too many files; raise its limit 'inodes'");
    if (entry->kind == COLLECT_FILE &&
        (entry->size > intake->max_bytes || (intake->bytes += entry->size) > intake->max_bytes))
        return refuse(intake, "is too large; raise its limit 'disk'");
    switch ((enum collect_kind)entry->kind) {
    case COLLECT_END:
        intake->complete = intake->depth == 0;
        return 0;
    case COLLECT_ENTER:
        return enter(intake, name);
    case COLLECT_LEAVE:
        return leave(intake, entry);
    case COLLECT_FILE:
        return open_file(intake, name, entry);
    case COLLECT_LINK:
        return open_link(intake, entry);
    case COLLECT_PART:
    case COLLECT_GONE:
    case COLLECT_OTHER:
    case COLLECT_SKIPPED:
        break;
    case COLLECT_FAILED:
        return told_failure(intake, name, entry->size);
    }
    return refuse(intake, "arrived garbled");
}

/* Puts what belongs to the head there; the number of bytes used. */
static size_t take_head(struct intake *intake, const unsigned char *data, size_t len)
{
    struct collect_entry entry;
    size_t want = sizeof(entry), n;

    if (intake->head_len >= sizeof(entry)) {
        memcpy(&entry, intake->head, sizeof(entry));
        want += entry.name_len;
    }
    n = want - intake->head_len < len ? want - intake->head_len : len;
    memcpy(intake->head + intake->head_len, data, n);
    intake->head_len += n;
    if (intake->head_len < sizeof(entry))
        return n;
    memcpy(&entry, intake->head, sizeof(entry));
    if (entry.name_len > COLLECT_MAX_NAME)
        refuse(intake, "has a name that is too long");
    else if (intake->head_len == sizeof(entry) + entry.name_len)
        begin(intake, &entry);
    return n;
}

static void end_entry(struct intake *intake)
{
    size_t len = intake->head_len - sizeof(struct collect_entry);
    char name[COLLECT_MAX_NAME + 1];
    struct collect_entry entry;

    memcpy(&entry, intake->head, sizeof(entry));
    memcpy(name, head_name(intake), len);
    name[len] = '\0';
    if (intake->file >= 0)
        set_times(intake->file, &entry);
    if (intake->file >= 0 && close(intake->file) < 0)
        cannot_write(intake, name);
    intake->file = -1;
    if (intake->link && symlinkat(intake->link, intake->dirs[intake->depth], name) < 0)
        cannot_write(intake, name);
    free(intake->link);
    intake->link = NULL;
    intake->head_len = 0;
}

static size_t take_content(struct intake *intake, const unsigned char *data, size_t len)
{
    size_t n = len < intake->left ? len : (size_t)intake->left;

    if (intake->link) {
        memcpy(intake->link + intake->link_len, data, n);
        intake->link_len += n;
    } else if (n && fd_write_all(intake->file, data, n) < 0) {
        cannot_write(intake, "a file");
    }
    intake->left -= n;
    return n;
}

static bool head_is_complete(const struct intake *intake)
{
    struct collect_entry entry;

    if (intake->head_len < sizeof(entry))
        return false;
    memcpy(&entry, intake->head, sizeof(entry));
    return intake->head_len == sizeof(entry) + entry.name_len;
}

void intake_take(struct intake *intake, const unsigned char *data, size_t len)
{
    while (len > 0 && !intake->failure.code) {
        size_t n = head_is_complete(intake) ? take_content(intake, data, len)
                                            : take_head(intake, data, len);

        data += n;
        len -= n;
        if (!intake->failure.code && head_is_complete(intake) && intake->left == 0)
            end_entry(intake);
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

static void intake_ready(void *context, uint32_t events)
{
    struct intake *intake = context;
    unsigned char *chunk = malloc(CHUNK);

    (void)events;
    if (!chunk) {
        refuse(intake, "does not fit into memory");
        intake_close(intake);
        return;
    }
    for (int i = 0; i < CHUNKS_PER_TURN && intake->fd >= 0 && read_some(intake, chunk); i++)
        continue;
    if (intake->failure.code) /* init, writing on, learns that nobody reads */
        intake_close(intake);
    free(chunk);
}

int intake_start(struct intake *intake, int fd, struct loop *loop, sbr_error *err)
{
    intake->fd = fd;
    intake->loop = loop;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || loop_add(loop, fd, EPOLLIN, intake_ready, intake) < 0)
        return err_set_errno(err, "collect", "cannot watch for what the stage makes");
    return 0;
}

void intake_finish(struct intake *intake)
{
    while (intake->fd >= 0) {
        int before = intake->fd;
        uint64_t bytes = intake->bytes, entries = intake->entries, left = intake->left;

        intake_ready(intake, 0);
        if (intake->fd == before && bytes == intake->bytes && entries == intake->entries &&
            left == intake->left)
            intake_close(intake);
    }
    if (!intake->complete)
        refuse(intake, "did not arrive whole");
}

void intake_done(struct intake *intake)
{
    intake_close(intake);
    if (intake->file >= 0)
        close(intake->file);
    intake->file = -1;
    while (intake->depth > 0)
        close(intake->dirs[intake->depth--]);
    free(intake->link);
    intake->link = NULL;
}
