#include "toolchain/project_sources.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/scope.h"
#include "base/walk.h"
#include "toolchain/project_excludes.h"

#define MOST_BYTES (64u << 20) /* of contents that are read */
#define MOST_LOOKED 200000
#define MOST_DEPTH 12
#define MOST_PATH 4096

#define WHEN_MADE 0x800 /* STATX_BTIME */

struct source_search {
    const struct words *patterns;
    const struct plan_mask *masks;
    size_t n_masks;
    struct sha256 *sum;
    uint64_t room;
    size_t looked;
    bool unsure; /* something may count that was not looked at */
};

bool project_sources_match(const struct words *patterns, const char *path)
{
    const char *slash = strrchr(path, '/');

    for (unsigned int i = 0; i < patterns->n; i++) {
        const char *pattern = patterns->at[i];
        bool whole = strchr(pattern, '/') != NULL;

        pattern += strncmp(pattern, "./", 2) ? 0 : 2;
        if (!fnmatch(pattern, whole || !slash ? path : slash + 1, whole ? FNM_PATHNAME : 0))
            return true;
    }
    return false;
}

/* Whether a pattern names what lies in the directory. */
static bool is_named(const struct words *patterns, const char *path)
{
    size_t len = strlen(path);

    for (unsigned int i = 0; i < patterns->n; i++)
        if (!strncmp(patterns->at[i], path, len) && patterns->at[i][len] == '/')
            return true;
    return false;
}

static void add_content(struct source_search *search, const struct walk_entry *entry)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(entry->dir_fd, entry->name, &st);
    char block[16384];
    uint64_t all = 0;
    ssize_t n = 0;

    while (fd >= 0 && search->room && (n = read(fd, block, sizeof(block))) > 0) {
        if ((uint64_t)n > search->room)
            n = (ssize_t)search->room;
        sha256_add(search->sum, block, (size_t)n);
        search->room -= (uint64_t)n;
        all += (uint64_t)n;
    }
    sha256_add_u64(search->sum, all);
    search->unsure |= !search->room;
    if (fd < 0 || search->room)
        return;
    sha256_add_u64(search->sum, (uint64_t)st.st_size);
    sha256_add_u64(search->sum, (uint64_t)st.st_mtim.tv_sec);
    sha256_add_u64(search->sum, (uint64_t)st.st_mtim.tv_nsec);
}

/* What builds and package managers leave there changes often, and is made of the rest. */
static bool is_of_results(const char *name)
{
    static const char *const names[] = { "node_modules",  "target",      "build", "dist",
                                         "site-packages", "__pycache__", "venv" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return name[0] == '.';
}

static int visit_source(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct source_search *search = context;

    if (search->looked++ > MOST_LOOKED)
        return err_set(err, SBR_E_INVALID, "dependencies", "the look has ended");
    if (project_excludes_at(search->masks, search->n_masks, entry->path))
        return WALK_SKIP;
    if (S_ISDIR(entry->st.st_mode))
        return is_of_results(entry->name) && !is_named(search->patterns, entry->path) ? WALK_SKIP
                                                                                      : 0;
    search->unsure |= S_ISLNK(entry->st.st_mode); /* a stage reads whatever it leads to */
    if (!S_ISREG(entry->st.st_mode) || !project_sources_match(search->patterns, entry->path))
        return 0;
    sha256_add_text(search->sum, entry->path);
    sha256_add_u64(search->sum, entry->st.st_mode & 0111);
    add_content(search, entry);
    return 0;
}

/* Deeper than the look goes, or unreadable. */
static int pass_unseen(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct source_search *search = context;

    search->unsure = true;
    return walk_pass_over(context, entry, err);
}

/* The time when it was made keeps a directory apart from one that had its number before; not all
 * file systems have it. */
void project_sources_add_place(int project_fd, struct sha256 *s)
{
    uint64_t statx[32] = { 0 }; /* struct statx, which musl lacks; [10] and [11] have that time */
    struct stat st = { 0 };

    (void)fstat(project_fd, &st);
    (void)syscall(SYS_statx, project_fd, "", AT_EMPTY_PATH, WHEN_MADE, statx);
    sha256_add_u64(s, st.st_dev);
    sha256_add_u64(s, st.st_ino);
    sha256_add_u64(s, statx[10]);
    sha256_add_u64(s, statx[11]);
}

void project_sources_add(int project_fd, const struct words *patterns,
                         const struct plan_mask *masks, size_t n_masks, struct sha256 *s)
{
    struct source_search search = {
        .patterns = patterns, .masks = masks, .n_masks = n_masks, .sum = s, .room = MOST_BYTES
    };
    const struct walk walk = { .visit = visit_source,
                               .fail = pass_unseen,
                               .context = &search,
                               .stage = "dependencies",
                               .max_depth = MOST_DEPTH,
                               .max_path = MOST_PATH };
    sbr_error none;

    if (patterns->n)
        (void)!walk_tree(project_fd, &walk, &none);
    if (search.unsure || search.looked > MOST_LOOKED)
        project_sources_add_place(project_fd, s);
}
