
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init/collect_files.h"
#include "model/outputs.h"

/* Directories are sent only once something in them is sent: levels[0] is the root. */
struct level {
    struct stat st;
    size_t name; /* offset of its name in the path */
};

struct search {
    struct stream *stream;
    const char *pattern;
    struct level levels[COLLECT_MAX_DEPTH + 1];
    int depth, sent;
    char path[COLLECT_MAX_PATH + COLLECT_MAX_NAME + 2]; /* absolute, to the current directory */
    size_t len;
};

/* Sends the directories of the path that were not sent yet. */
static int send_way(struct search *s)
{
    int r = 0;

    while (r == 0 && s->sent < s->depth) {
        const struct level *level = &s->levels[++s->sent];
        size_t end = s->sent < s->depth ? s->levels[s->sent + 1].name - 1 : s->len;
        char name[COLLECT_MAX_NAME + 1];

        snprintf(name, sizeof(name), "%.*s", (int)(end - level->name), s->path + level->name);
        r = collect_stream_entry(s->stream, (struct collect_entry){ .kind = COLLECT_ENTER }, name,
                                 &level->st);
    }
    return r;
}

static int skip(struct search *s, const char *name, const struct stat *st, enum collect_skip why)
{
    int r = send_way(s);

    return r ? r
             : collect_stream_entry(s->stream,
                                    (struct collect_entry){ .kind = COLLECT_SKIPPED, .size = why },
                                    name, st);
}

/* Bytes that a terminal would obey; C1 controls are two bytes in UTF-8. */
static bool has_controls(const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
            return true;
    return false;
}

/* True when the file is unreadable, gone or replaced, which another user of a volume may do. */
static bool is_its_own(int error)
{
    return error == EACCES || error == EPERM || error == ENOENT || error == ELOOP ||
           error == ESTALE || error == ENXIO;
}

static int take_file(struct search *s, int at, const char *name, struct stat *st)
{
    int r = send_way(s);

    if (r == 0)
        r = collect_file(s->stream, at, name, st);
    if (r == EFBIG)
        return skip(s, name, st, SKIP_TOO_MUCH);
    return is_its_own(r) ? skip(s, name, st, SKIP_UNREADABLE) : r;
}

/* False when it would be too deep. */
static bool push(struct search *s, const char *name, const struct stat *st)
{
    size_t len = strlen(name);

    if (s->depth == COLLECT_MAX_DEPTH || s->len + len + 1 > COLLECT_MAX_PATH)
        return false;
    s->path[s->len++] = '/';
    s->levels[++s->depth] = (struct level){ *st, s->len };
    memcpy(s->path + s->len, name, len + 1);
    s->len += len;
    return true;
}

static int pop(struct search *s)
{
    const struct level *level = &s->levels[s->depth];
    int r = 0;

    s->len = level->name - 1;
    s->path[s->len] = '\0';
    if (s->sent == s->depth) {
        r = collect_stream_entry(s->stream, (struct collect_entry){ .kind = COLLECT_LEAVE }, NULL,
                                 &level->st);
        s->sent--;
    }
    s->depth--;
    return r;
}

static int search_entries(struct search *s, DIR *dir);

static int search_directory(struct search *s, int at, const char *name, struct stat *st)
{
    scoped_dir DIR *dir = NULL;
    int r, left;

    if (has_controls(name))
        return skip(s, name, st, SKIP_NAME);
    if (s->depth == COLLECT_MAX_DEPTH || s->len + strlen(name) + 1 > COLLECT_MAX_PATH)
        return skip(s, name, st, SKIP_DEPTH);
    dir = collect_open_dir(at, name, st);
    if (!dir)
        return skip(s, name, st, errno == EMFILE ? SKIP_DEPTH : SKIP_UNREADABLE);
    push(s, name, st);
    r = search_entries(s, dir);
    collect_restore(dirfd(dir), st);
    left = pop(s);
    return r ? r : left;
}

/* Only regular files are sent: a link could lead anywhere once it is outside. */
static int take(struct search *s, int at, const char *name, struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return skip(s, name, st, SKIP_LINK);
    if (!S_ISREG(st->st_mode))
        return skip(s, name, st, SKIP_OTHER);
    return has_controls(name) ? skip(s, name, st, SKIP_NAME) : take_file(s, at, name, st);
}

static int look_at(struct search *s, int at, const char *name)
{
    bool below = false, matches;
    struct stat st;

    snprintf(s->path + s->len, sizeof(s->path) - s->len, "/%s", name);
    matches = output_matches(s->pattern, s->path, &below);
    s->path[s->len] = '\0';
    if (!matches && !below)
        return 0;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : skip(s, name, NULL, SKIP_UNREADABLE);
    if (S_ISDIR(st.st_mode))
        return search_directory(s, at, name, &st);
    return matches ? take(s, at, name, &st) : 0;
}

static int search_entries(struct search *s, DIR *dir)
{
    const struct dirent *entry;
    int r = 0;

    while (r == 0 && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        r = collect_stream_tick(s->stream);
        if (r == 0)
            r = look_at(s, dirfd(dir), entry->d_name);
    }
    return r;
}

/* Searches the directory at the end of the fixed part: one name, or all. */
static int search_here(struct search *s, int at, const char *last)
{
    scoped_dir DIR *dir = NULL;

    if (!last[strcspn(last, "*?[\\/")])
        return look_at(s, at, last);
    dir = collect_dir_of(openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return dir ? search_entries(s, dir) : errno;
}

static int search_fixed(struct search *s, int at, const char *rest, const char *end);

static int search_below(struct search *s, int fd, const char *rest, const char *end)
{
    int r = search_fixed(s, fd, rest, end), left = pop(s);

    return r ? r : left;
}

/* Directories on the path are entered but not read: the program may lack the right to read them. */
static int pass(struct search *s, int at, const char *name, const char *rest, const char *end)
{
    scoped_fd int fd = -1;
    struct stat st;
    int r;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    if (!S_ISDIR(st.st_mode))
        return S_ISLNK(st.st_mode) ? skip(s, name, &st, SKIP_LINK) : 0;
    fd = collect_pass(at, name, &st);
    if (fd < 0)
        return errno;
    r = push(s, name, &st) ? search_below(s, fd, rest, end) : skip(s, name, &st, SKIP_DEPTH);
    collect_restore(fd, &st);
    return r;
}

static int search_fixed(struct search *s, int at, const char *rest, const char *end)
{
    const char *start = rest + strspn(rest, "/");
    size_t len = strcspn(start, "/");
    char name[COLLECT_MAX_NAME + 1];

    if (start >= end)
        return search_here(s, at, start);
    if (len > COLLECT_MAX_NAME)
        return 0; /* no file has such a name */
    snprintf(name, sizeof(name), "%.*s", (int)len, start);
    return pass(s, at, name, start + len, end);
}

int collect_outputs(struct stream *stream, int root_fd, const char *pattern)
{
    struct search search = { .stream = stream, .pattern = pattern };

    return search_fixed(&search, root_fd, pattern, pattern + output_fixed_len(pattern));
}
