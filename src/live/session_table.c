/* The table of a process that writes its memory: what is where, and what goes into a copy. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "live/session_saver.h"

#if defined(__x86_64__)
#define TOTAL_MAX (64UL << 30)
#define PRESENT (3ULL << 62) /* or swapped out */
#define IS_FILES (1ULL << 61)
#define TID_REACH 0x900         /* of what the C library keeps for a thread */
#define HIDDEN_MAX (16UL << 30) /* of memory that cannot be read, and may have pages all the same */

static bool is_named(const struct map_line *line, const char *name, size_t len)
{
    return line->path_len >= len && copy_equal(line->path, name, len);
}

/* Where the path of the region before is, when it is the same; otherwise where a new one goes. */
static uint32_t find_path(const struct saver *s, size_t len)
{
    uint32_t n = s->header.paths_len;

    return n >= len && copy_equal(&s->paths[n - len], s->path, len) ? n - (uint32_t)len : n;
}

/* Whether the region before is of the same file: libraries have five mappings each. */
static bool repeat_file(const struct saver *s, const struct map_line *line,
                        struct copy_region *region)
{
    const struct copy_region *last = region - 1;
    const char *path = &s->paths[last->path];

    if (!s->header.n_regions || line->shared || last->kind != COPY_FILE ||
        last->path + line->path_len >= s->header.paths_len || path[line->path_len] ||
        !copy_equal(path, line->path, line->path_len))
        return false;
    region->kind = COPY_FILE;
    region->offset = line->offset;
    region->size = last->size;
    region->mtime = last->mtime;
    region->path = last->path;
    return true;
}

/* The file of a mapping, as the copy shall find it again. */
static long add_file(struct saver *s, const struct map_line *line, struct copy_region *region)
{
    struct statfs fs;
    struct stat st;

    if (repeat_file(s, line, region))
        return 0;
    if (line->path_len >= SAVER_PATH_SIZE ||
        s->header.paths_len + line->path_len + 1 > COPY_PATHS || line->path[0] != '/')
        return -ENOTSUP;
    for (size_t i = 0; i < line->path_len; i++)
        s->path[i] = line->path[i];
    s->path[line->path_len] = '\0';
    if (copy_call(SYS_newfstatat, AT_FDCWD, (long)s->path, (long)&st, 0, 0, 0) < 0 ||
        copy_call(SYS_statfs, (long)s->path, (long)&fs, 0, 0, 0, 0) < 0)
        return line->shared ? -ENOTSUP : 1; /* it is gone; the bytes are here */
    if (!line->shared && fs.f_type == TMPFS_MAGIC)
        return 1; /* each sandbox has its own */
    region->kind = line->shared ? COPY_SHARED : COPY_FILE;
    region->offset = line->offset;
    region->size = (uint64_t)st.st_size;
    region->mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
    region->path = find_path(s, line->path_len + 1);
    if (region->path < s->header.paths_len)
        return 0;
    for (size_t i = 0; i <= line->path_len; i++)
        s->paths[s->header.paths_len++] = s->path[i];
    return 0;
}

/* By its address: in a copy it has no name. */
static bool is_our_stack(const struct map_line *line)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);

    return line->start <= here && here < line->end;
}

bool session_table_is_own(const struct copy_region *region, uint64_t entry)
{
    if (region->kind == COPY_FILE)
        return (entry & PRESENT) && !(entry & IS_FILES);
    return region->kind == COPY_BROUGHT || (entry & PRESENT);
}

long session_table_entries(struct part *p, uint64_t at, uint64_t end)
{
    uint64_t n = (end - at) / COPY_PAGE;

    if (n > SAVER_ENTRIES)
        n = SAVER_ENTRIES;
    if (copy_call(SYS_pread64, p->saver->pagemap, (long)p->entries, (long)(n * 8),
                  (long)(at / COPY_PAGE * 8), 0, 0) != (long)(n * 8))
        return -EIO;
    return (long)n;
}

/* A program can forbid itself memory that it has written, and permit it again later. */
static long find_hidden(struct saver *s, struct copy_region *region)
{
    struct part *p = &s->parts[0];
    long n = 0;

    s->hidden += region->end - region->start;
    if (s->hidden > HIDDEN_MAX)
        return -ENOTSUP; /* to look at all of it would take too long */
    for (uint64_t at = region->start; n >= 0 && at < region->end; at += (uint64_t)n * COPY_PAGE) {
        n = session_table_entries(p, at, region->end);
        for (long i = 0; i < n && !region->filled; i++)
            region->filled = session_table_is_own(region, p->entries[i]);
    }
    return n < 0 ? n : 0;
}

/* The child ends after the copy, so it may permit itself what it likes. */
long session_table_show_hidden(const struct saver *s)
{
    long r = 0;

    for (uint32_t i = 0; r >= 0 && i < s->header.n_regions; i++) {
        const struct copy_region *region = &s->regions[i];

        if (region->filled && !(region->prot & PROT_READ))
            r = copy_call(SYS_mprotect, (long)region->start, (long)(region->end - region->start),
                          PROT_READ, 0, 0, 0);
    }
    return r;
}

static long add_region(struct saver *s, const struct map_line *line)
{
    struct copy_region *region = &s->regions[s->header.n_regions];
    long r = 0;

    if (line->start == (uint64_t)(uintptr_t)s || is_named(line, "[vsyscall]", 10))
        return 0;
    if (s->header.n_regions == COPY_REGIONS || (line->shared && line->writable))
        return -ENOTSUP;
    *region = (struct copy_region){
        .start = line->start,
        .end = line->end,
        .prot = (uint16_t)((line->readable ? PROT_READ : 0) | (line->writable ? PROT_WRITE : 0) |
                           (line->executable ? PROT_EXEC : 0)),
        .kind = COPY_ANON,
    };
    if (is_our_stack(line))
        region->kind = COPY_STACK;
    else if (is_named(line, "[vdso]", 6) || is_named(line, "[vvar", 5))
        region->kind = COPY_VDSO;
    else if (line->path_len && line->path[0] != '[')
        r = add_file(s, line, region);
    else if (line->shared)
        r = -ENOTSUP;
    if (r == 1)
        region->kind = COPY_BROUGHT;
    region->filled = line->readable && region->kind < COPY_SHARED;
    if (r >= 0 && !line->readable && region->kind < COPY_SHARED)
        r = find_hidden(s, region);
    s->header.n_regions += r >= 0;
    return r < 0 ? r : 0;
}

static long read_regions(struct saver *s)
{
    long len = session_maps_read("/proc/self/maps", s->maps, SAVER_MAPS_SIZE), r = 0;
    const char *at = s->maps, *end = s->maps + (len > 0 ? len : 0);
    struct map_line line;
    uint64_t total = 0;

    if (len <= 0)
        return -ENOTSUP;
    s->maps_len = len;
    while (r == 0 && at < end && (at = session_maps_line(at, end, &line)) != NULL) {
        r = add_region(s, &line);
        total += line.readable ? line.end - line.start : 0;
    }
    return r < 0 ? r : total > TOTAL_MAX ? -ENOTSUP : 0;
}

static bool is_same(const struct map_line *a, const struct map_line *b)
{
    return (a->start == b->start || (is_our_stack(a) && is_our_stack(b))) && a->end == b->end &&
           a->offset == b->offset && a->readable == b->readable && a->writable == b->writable &&
           a->executable == b->executable && a->shared == b->shared;
}

/* A thread that runs beside the interpreter, or what a library does at a fork, can have changed it.
 */
bool session_table_is_as_given(struct saver *s)
{
    long len = session_maps_read("/proc/self/maps", s->maps_again, SAVER_MAPS_SIZE);
    const char *was = s->maps, *was_end = was + s->maps_len;
    const char *now = s->maps_again, *now_end = now + (len > 0 ? len : 0);
    struct map_line before, after;

    while (was < was_end && now < now_end) {
        was = session_maps_line(was, was_end, &before);
        now = session_maps_line(now, now_end, &after);
        if (!was || !now || !is_same(&before, &after))
            return false;
    }
    return was == was_end && now == now_end;
}

/* The C library has the number of a thread in its memory, and compares it with those of locks. */
static uint64_t find_tid(uint64_t fs)
{
    uint32_t tid = (uint32_t)copy_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    uint64_t found = 0;

    for (uint64_t at = fs; at < fs + TID_REACH; at += sizeof(tid)) {
        if (*(const uint32_t *)at != tid)
            continue;
        if (found)
            return 0;
        found = at;
    }
    return found;
}

static void save_process(struct copy_header *h)
{
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } alt = { 0 };

    h->tid = find_tid(h->fs);
    copy_call(SYS_rt_sigprocmask, 0, 0, (long)&h->mask, 8, 0, 0);
    copy_call(SYS_sigaltstack, 0, (long)&alt, 0, 0, 0, 0);
    h->alt_sp = alt.sp;
    h->alt_size = alt.size;
    h->alt_flags = alt.flags;
    copy_call(SYS_prctl, PR_GET_NAME, (long)h->name, 0, 0, 0, 0);
    for (long i = 0; i < COPY_SIGNALS; i++)
        copy_call(SYS_rt_sigaction, i + 1, 0, (long)&h->actions[i], 8, 0, 0);
}

long session_table_read(struct saver *s)
{
    s->header.magic = COPY_MAGIC;
    save_process(&s->header);
    return read_regions(s);
}
#endif
