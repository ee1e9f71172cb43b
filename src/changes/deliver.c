#include "changes/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aside.h"
#include "changes/beneath.h"
#include "changes/copy_tree.h"
#include "changes/node.h"
#include "model/executes.h"

#define WHY_SIZE 160

static const char *const skip_reasons[N_SKIPS] = {
    [SKIP_LINK] = "is a link, which is not followed",
    [SKIP_OTHER] = "is a pipe, a socket or a device",
    [SKIP_NAME] = "has a name that is not taken over",
    [SKIP_DEPTH] = "lies too deep",
    [SKIP_TOO_MUCH] = "is beyond what may be taken out of a run",
    [SKIP_UNREADABLE] = "could not be read",
};

/* Opens a directory, which is made when it is not there. */
static int step_into(int dir_fd, const char *name, size_t len)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char part[COLLECT_MAX_NAME + 1];
    int fd;

    if (len > COLLECT_MAX_NAME) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(part, name, len);
    part[len] = '\0';
    fd = openat(dir_fd, part, flags);
    if (fd < 0 && errno == ENOENT && (mkdirat(dir_fd, part, 0777) == 0 || errno == EEXIST))
        fd = openat(dir_fd, part, flags);
    return fd;
}

/* The directory of a path, and its last part in *ret_name. -1 with errno. */
static int open_parent(int dir_fd, const char *path, const char **ret_name)
{
    scoped_fd int at = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *slash;

    for (; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        int fd = step_into(at, path, (size_t)(slash - path));

        close(at);
        at = fd;
    }
    *ret_name = path;
    return take_fd(at);
}

/* Made aside and named then: no process sees half of it. */
int deliver_file(int from_fd, uint64_t size, bool executable, int dir_fd, const char *path)
{
    struct aside aside = ASIDE_NONE;
    struct copy_file how = { 0 };
    const char *name;
    scoped_fd int parent = open_parent(dir_fd, path, &name);

    if (parent < 0 || aside_open(parent, executable ? 0777 : 0666, &aside) < 0)
        return -1;
    if (copy_file(from_fd, aside.fd, size, &how) < 0) {
        int saved = errno;

        aside_drop(&aside, parent);
        errno = saved;
        return -1;
    }
    return aside_name(&aside, parent, name);
}

/* Who uses the copies follows their links, as the caller. */
int deliver_link(const char *text, int dir_fd, const char *path)
{
    const char *name;
    scoped_fd int parent = -1;

    if (text[0] == '/' || !beneath_link_stays(dir_fd, "", path, text)) {
        errno = EXDEV;
        return -1;
    }
    parent = open_parent(dir_fd, path, &name);
    return parent < 0 ? -1 : aside_name_link(text, parent, name);
}

/* Why a file could not be saved, from errno.  True: the host is to blame, not a name that the
 * program chose. */
static bool explain(char why[WHY_SIZE])
{
    static const struct {
        int error;
        const char *text;
    } rows[] = {
        { ENOTDIR, "would go through a link or a file" },
        { ELOOP, "would go through a link or a file" },
        { EISDIR, "would replace a directory" },
        { EEXIST, "would replace a directory" },
        { ENOTEMPTY, "would replace a directory" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (errno == rows[i].error) {
            snprintf(why, WHY_SIZE, "%s", rows[i].text);
            return false;
        }
    }
    snprintf(why, WHY_SIZE, "could not be saved: %s", strerror(errno));
    return true;
}

struct delivery {
    const struct output_rule *rule;
    const struct collected *collected;
    const struct save_trees *trees;
    int dir_fd; /* of rule->dir, once it is needed */
    int failed; /* errno of the first file that the host did not take */
    char first[201];
};

/* The path without the fixed part of the pattern. */
static const char *path_below(const struct output_rule *rule, const char *path)
{
    size_t len = output_fixed_len(rule->pattern);

    return len && !strncmp(rule->pattern + 1, path, len - 1) && path[len - 1] == '/' ? path + len
                                                                                     : path;
}

/* 0; 1 with `why`: not saved. */
static int save_file(struct delivery *d, const struct collect_list_entry *entry, const char *path,
                     char why[WHY_SIZE])
{
    struct node_state seen;
    scoped_fd int from_fd = node_open_file(d->collected->content_fd, path, &seen);

    if (from_fd < 0 || deliver_file(from_fd, seen.node.size, entry->mode & S_IXUSR, d->dir_fd,
                                    path_below(d->rule, path)) < 0) {
        int saved = errno;

        if (explain(why) && !d->failed) {
            d->failed = saved;
            snprintf(d->first, sizeof(d->first), "%.200s", path);
        }
        return 1;
    }
    return 0;
}

static char *join(const char *dir, const char *path)
{
    size_t size = strlen(dir) + strlen(path) + 2;
    char *text = malloc(size);

    if (text)
        snprintf(text, size, "%s/%s", strcmp(dir, "/") ? dir : "", path);
    return text;
}

static int open_dir(struct delivery *d, sbr_error *err)
{
    if (d->dir_fd >= 0)
        return 0;
    d->dir_fd = save_dir_open(d->rule->dir, d->trees, true, err);
    return d->dir_fd >= 0 ? 0 : err->code;
}

static const char *reason_of(const struct collect_list_entry *entry)
{
    switch (entry->kind) {
    case COLLECT_SKIPPED:
        return entry->size < N_SKIPS && skip_reasons[entry->size] ? skip_reasons[entry->size]
                                                                  : "was not taken";
    case COLLECT_LINK:
        return skip_reasons[SKIP_LINK];
    case COLLECT_OTHER:
        return skip_reasons[SKIP_OTHER];
    default:
        return NULL;
    }
}

/* A wildcard, or the name of a directory above, takes it unseen; then `git status` beside the copy,
 * or a shell there, would act on what the program has chosen. */
static bool is_executed_unnamed(const struct output_rule *rule, const char *path)
{
    const char *name = rule->pattern + 1;
    size_t len = strlen(name), start;

    if (!rule->dir || !executes_path(path_below(rule, path), NODE_FILE, &start))
        return false;
    return !executes_path(path, NODE_FILE, &start) || len <= start || strncmp(path, name, len) ||
           (path[len] && path[len] != '/');
}

static int deliver_entry(struct delivery *d, const struct collect_list_entry *entry,
                         const char *path, struct output_files *files, sbr_error *err)
{
    const char *reason = reason_of(entry);
    struct output_file file = { .path = join("/", path), .mime = outputs_mime_of(path) };
    char why[WHY_SIZE];

    if (!reason)
        file.size = entry->size;
    if (!reason && is_executed_unnamed(d->rule, path))
        reason = "is what others execute or trust; a pattern that names it takes it";
    if (!reason && d->rule->dir) {
        if (open_dir(d, err) < 0) {
            free(file.path);
            return err->code;
        }
        if (save_file(d, entry, path, why))
            reason = why;
        else
            file.saved = join(d->rule->dir, path_below(d->rule, path));
    }
    if (reason)
        file.skipped = strdup(reason);
    if (!file.path || (reason && !file.skipped) || (!reason && d->rule->dir && !file.saved)) {
        free(file.path);
        free(file.saved);
        free(file.skipped);
        return err_set_oom(err, "outputs");
    }
    return output_files_add(files, &file, err);
}

/* A pattern without a file stands in the list itself: its absence would look like success. */
static int list_unmatched(const struct output_rule *rule, struct output_files *files,
                          sbr_error *err)
{
    struct output_file none = { .path = strdup(rule->pattern),
                                .mime = outputs_mime_of(rule->pattern),
                                .skipped = strdup("matches no file") };

    if (!none.path || !none.skipped) {
        free(none.path);
        free(none.skipped);
        return err_set_oom(err, "outputs");
    }
    return output_files_add(files, &none, err);
}

int deliver(const struct output_rule *rule, const struct collected *collected,
            const struct save_trees *trees, struct output_files *files, sbr_error *err)
{
    struct delivery d = { .rule = rule, .collected = collected, .trees = trees, .dir_fd = -1 };
    bool matched = false;
    int r = 0;

    for (size_t i = 0; i < collected->list.n && r == 0; i++) {
        const struct collect_list_entry *entry = &collected->list.items[i];

        if (entry->kind != COLLECT_FILE && !reason_of(entry))
            continue;
        matched = true;
        r = deliver_entry(&d, entry, collect_list_path(&collected->list, i), files, err);
    }
    if (!matched && r == 0)
        r = list_unmatched(rule, files, err);
    scope_close_fd(&d.dir_fd);
    if (r < 0 || !d.failed)
        return r;
    errno = d.failed; /* all others were saved */
    return err_set_errno(err, "outputs", "cannot save '%s' to '%.150s'", d.first, rule->dir);
}
