
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "init/collect_files.h"

/* The tree of a stage, all of /work, or the upper directory of a copy-on-write tree. */
/* A bit for each kind that is about what was changed. */
static const unsigned int of_changes = 1u << COLLECTS_CHANGES | 1u << COLLECTS_NAMES;

struct walk {
    struct stream *stream;
    bool changes;
    bool names_special;
    bool names; /* of files no contents */
    int depth;
    size_t path_len;
    char failed[COLLECT_MAX_NAME + 1]; /* the entry that failed; empty: the top */
};

/* A whiteout marks an entry of the lower tree as deleted.  A pipe or a socket
 * means nothing outside. */
static int put_special(const struct walk *w, const char *name, const struct stat *st)
{
    bool gone = w->changes && S_ISCHR(st->st_mode) && st->st_rdev == 0;
    struct collect_entry entry = { .kind = gone ? COLLECT_GONE : COLLECT_OTHER };

    return w->names_special ? collect_stream_entry(w->stream, entry, name, st) : 0;
}

static bool is_opaque(int fd)
{
    char value;

    return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static int put_entries(struct walk *w, DIR *dir);

static int put_opened(struct walk *w, DIR *dir, const char *name, const struct stat *st)
{
    struct collect_entry enter = { .kind = COLLECT_ENTER }, leave = { .kind = COLLECT_LEAVE };
    size_t len = strlen(name) + 1;
    int r;

    if (w->changes && is_opaque(dirfd(dir)))
        enter.flags = COLLECT_OPAQUE;
    r = collect_stream_entry(w->stream, enter, name, st);
    if (r)
        return r;
    w->depth++;
    w->path_len += len;
    r = put_entries(w, dir);
    w->depth--;
    w->path_len -= len;
    collect_restore(dirfd(dir), st);
    return r ? r : collect_stream_entry(w->stream, leave, NULL, st);
}

static int put_directory(struct walk *w, int at, const char *name, struct stat *st)
{
    scoped_dir DIR *dir = NULL;

    if (w->depth == COLLECT_MAX_DEPTH)
        return ELOOP;
    if (w->path_len + strlen(name) + 1 > COLLECT_MAX_PATH)
        return ENAMETOOLONG;
    dir = collect_open_dir(at, name, st);
    return dir ? put_opened(w, dir, name, st) : errno;
}

static int put_any(struct walk *w, int at, const char *name)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return w->names ? collect_file_name(w->stream, name, &st)
                        : collect_file(w->stream, at, name, &st);
    case S_IFLNK:
        return collect_link(w->stream, at, name, &st);
    case S_IFDIR:
        return put_directory(w, at, name, &st);
    default:
        return put_special(w, name, &st);
    }
}

static int put_entries(struct walk *w, DIR *dir)
{
    const struct dirent *entry;
    int r = 0;

    while (r == 0 && (errno = 0, entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        r = collect_stream_tick(w->stream);
        if (r == 0)
            r = put_any(w, dirfd(dir), entry->d_name);
        if (r && !w->failed[0])
            snprintf(w->failed, sizeof(w->failed), "%s", entry->d_name);
    }
    return r ? r : errno;
}

static DIR *open_tree(const struct inside *in, const struct plan_collect *what)
{
    struct stat st;

    if (fstatat(in->root_fd, what->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    return collect_open_dir(in->root_fd, what->path, &st);
}

/* The program may have locked the top, which has a file descriptor but no name. */
static DIR *open_upper(const struct inside *in, const struct plan_collect *what)
{
    int fd = what->cow < in->n_uppers ? in->uppers[what->cow] : -1;

    (void)fchmod(fd, 0700);
    return collect_dir_of(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int put_tree(struct stream *s, const struct inside *in, const struct plan_collect *what)
{
    struct walk walk = { .stream = s,
                         .names = what->what == COLLECTS_NAMES,
                         .changes = of_changes & 1u << what->what,
                         .names_special = what->what != COLLECTS_TREE };
    scoped_dir DIR *top = walk.changes ? open_upper(in, what) : open_tree(in, what);
    int r = top ? put_entries(&walk, top) : errno;
    struct collect_entry failed = { .kind = COLLECT_FAILED, .size = (uint64_t)r };

    return r && r != EPIPE
               ? collect_stream_entry(s, failed, walk.failed[0] ? walk.failed : "the tree", NULL)
               : r;
}

/* Without a private root, the pattern for files in /work begins with the path of the run
 * directory; their names are sent as they would be inside.  Other patterns name a volume, at its
 * own path on the host. */
static int search(struct stream *s, const struct inside *in, const char *pattern)
{
    const char *run_dir = in->plan->run_dir;
    size_t len = run_dir ? strlen(run_dir) : 0;
    scoped_fd int host = -1;

    if (!run_dir || (!strncmp(pattern, run_dir, len) && pattern[len] == '/'))
        return collect_outputs(s, in->root_fd, pattern + len);
    host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return host >= 0 ? collect_outputs(s, host, pattern) : errno;
}

static int put_outputs(struct stream *s, const struct inside *in, const struct plan_collect *what)
{
    int r = search(s, in, what->path);
    struct collect_entry failed = { .kind = COLLECT_FAILED, .size = (uint64_t)r };

    return r && r != EPIPE ? collect_stream_entry(s, failed, what->path, NULL) : r;
}

static int put_part(struct stream *s, const struct inside *in, size_t index)
{
    const struct plan_collect *what = &in->plan->collects[index];
    int r = collect_stream_entry(s, (struct collect_entry){ .kind = COLLECT_PART, .size = index },
                                 NULL, NULL);

    if (r)
        return r;
    return what->what == COLLECTS_OUTPUT ? put_outputs(s, in, what) : put_tree(s, in, what);
}

static struct rusage own_usage(void)
{
    struct rusage usage = { 0 };

    (void)getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static uint64_t between_us(const struct timeval *from, const struct timeval *to)
{
    return (uint64_t)((to->tv_sec - from->tv_sec) * 1000000 + to->tv_usec - from->tv_usec);
}

/* The parts whose kind is in `kinds`, a bit each. */
static void put_parts(const struct inside *in, unsigned int kinds)
{
    static const struct sigaction ignore = { .sa_handler = SIG_IGN };
    static struct stream stream;
    int r = 0;

    (void)sigaction(SIGPIPE, &ignore, NULL); /* a reader may leave early; init still reports */
    collect_stream_init(&stream, in->plan, in->report);
    for (size_t i = 0; r == 0 && i < in->plan->n_collects; i++)
        if (kinds & 1u << in->plan->collects[i].what)
            r = put_part(&stream, in, i);
    if (r == 0)
        r = collect_stream_entry(&stream, (struct collect_entry){ .kind = COLLECT_END }, NULL,
                                 NULL);
    if (r == 0)
        (void)collect_stream_flush(&stream);
}

void collect_changes(const struct inside *in)
{
    if (in->plan->n_collects)
        put_parts(in, of_changes);
}

void collect_run(const struct inside *in, bool succeeded)
{
    struct rusage before = own_usage(), after;

    for (int fd = INIT_STDIN; fd <= INIT_STDERR; fd++)
        close(fd); /* readers of the streams need not wait for the collection */
    put_parts(in, succeeded ? ~0u : ~(1u << COLLECTS_TREE));
    after = own_usage();
    in->report->own_user_us = between_us(&before.ru_utime, &after.ru_utime);
    in->report->own_system_us = between_us(&before.ru_stime, &after.ru_stime);
}
