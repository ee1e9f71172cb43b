#include "toolchain/project_excludes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/scope.h"
#include "base/walk.h"

#define STAGE "excludes"
#define MAX_DEPTH 400 /* each takes a file descriptor */

struct search {
    struct exclude rules;
    const sbr_request *req;
    int tree_fd;
    unsigned int out_depth; /* of the excluded directory that we are in, and one more; 0: none */
    struct plan_mask *masks;
    size_t n;
};

int project_excludes_open(int tree_fd, const sbr_request *req, struct exclude *ret, sbr_error *err)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(tree_fd, EXCLUDE_FILE, &st);
    scoped_free char *text = NULL;
    size_t len = 0;

    *ret = (struct exclude){ .outs = &req->excludes, .ins = &req->includes };
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == EINVAL || errno == ENXIO))
        return err_set(err, SBR_E_INVALID, STAGE,
                       "the project's " EXCLUDE_FILE " is no regular file; make it one");
    if (fd < 0)
        return err_set_errno(err, STAGE, "cannot read the project's " EXCLUDE_FILE);
    if (fd_read_text(fd, EXCLUDE_FILE_MAX, &text, &len, err) < 0)
        return err->code;
    return exclude_read(ret, text, len, err);
}

static bool is_secret(enum exclude_answer answer, int dir_fd, const char *name)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, name, &st);
    scoped_free char *data = malloc(EXCLUDE_LOOK_MAX);
    size_t len = 0;
    ssize_t n = -1;

    while (fd >= 0 && data && len < EXCLUDE_LOOK_MAX &&
           (n = read(fd, data + len, EXCLUDE_LOOK_MAX - len)) > 0)
        len += (size_t)n;
    return n != 0 || exclude_by_content(answer, data, len, true);
}

bool project_excludes_has(const struct exclude *rules, int dir_fd, const char *name,
                          const char *path, bool is_directory)
{
    enum exclude_answer answer = exclude_ask(rules, path, is_directory);

    return answer == EXCLUDE_YES || (answer != EXCLUDE_NO && is_secret(answer, dir_fd, name));
}

bool project_excludes_hides(const struct exclude *rules, int tree_fd, const char *path)
{
    bool out = false;

    for (const char *slash = strchr(path, '/'); slash && !out; slash = strchr(slash + 1, '/')) {
        scoped_free char *above = strndup(path, (size_t)(slash - path));

        out = !above || exclude_ask(rules, above, true) == EXCLUDE_YES;
    }
    return out ? !exclude_is_included(rules, path, false)
               : project_excludes_has(rules, tree_fd, path, path, false);
}

static int add(struct search *s, const char *path, bool is_directory, sbr_error *err)
{
    struct plan_mask *grown = NULL;

    if (s->n == PROJECT_EXCLUDES_MAX)
        return err_set(err, SBR_E_INVALID, STAGE,
                       "more than %d files are to be left out, such as '%.150s'; exclude a "
                       "directory above them, or include them",
                       PROJECT_EXCLUDES_MAX, path);
    grown = realloc(s->masks, (s->n + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, STAGE);
    s->masks = grown;
    grown[s->n] = (struct plan_mask){ .path = strdup(path), .directory = is_directory };
    return grown[s->n++].path ? 0 : err_set_oom(err, STAGE);
}

static bool fd_path(int fd, char path[PATH_MAX])
{
    char link[40];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* What a link leads to outside of the tree cannot be reached inside. */
static int add_target(struct search *s, const char *path, sbr_error *err)
{
    scoped_fd int fd = inode_resolve(s->tree_fd, path, O_PATH | O_CLOEXEC, RESOLVE_BENEATH);
    char target[PATH_MAX], top[PATH_MAX];
    size_t len;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !fd_path(fd, target) || !fd_path(s->tree_fd, top))
        return 0;
    len = strcmp(top, "/") != 0 ? strlen(top) : 0;
    if (strncmp(target, top, len) != 0 || target[len] != '/')
        return 0;
    return add(s, target + len + 1, S_ISDIR(st.st_mode), err);
}

static bool is_named(const sbr_request *req, const char *path)
{
    if (req->program && !strcmp(req->program, path))
        return true;
    for (size_t i = 0; i < req->n_files; i++)
        if (!strcmp(req->files[i].path, path))
            return true;
    return false;
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct search *s = context;
    mode_t type = entry->st.st_mode & S_IFMT;
    bool directory = type == S_IFDIR, out;

    out = s->out_depth
              ? !exclude_is_included(&s->rules, entry->path, directory)
              : project_excludes_has(&s->rules, entry->dir_fd, entry->name, entry->path, directory);
    if (!out || is_named(s->req, entry->path))
        return 0;
    if (type == S_IFLNK)
        return add_target(s, entry->path, err);
    if (directory && exclude_reaches_below(&s->rules, entry->path)) {
        s->out_depth = s->out_depth ? s->out_depth : entry->depth + 1;
        return 0;
    }
    if (type != S_IFREG && !directory)
        return 0;
    return add(s, entry->path, directory, err) < 0 ? err->code : WALK_SKIP;
}

static int leave(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct search *s = context;

    (void)err;
    if (s->out_depth == entry->depth + 1)
        s->out_depth = 0;
    return 0;
}

/* What we cannot look into, the program cannot read either, or it went away. */
static int fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    (void)context;
    switch (errno) {
    case ENOENT:
    case EACCES:
    case ENOTDIR:
    case ELOOP:
        return 0;
    case EMLINK:
        return err_set(err, SBR_E_INVALID, STAGE,
                       "directories are nested deeper than %d, at '%.200s'; exclude one above it",
                       MAX_DEPTH, entry->path);
    default:
        return err_set_errno(err, STAGE, "cannot look for secrets in '%.200s'", entry->path);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct plan_mask *)a)->path, ((const struct plan_mask *)b)->path);
}

/* A link and what it leads to may both be left out. */
static void drop_doubles(struct search *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (n && !strcmp(s->masks[n - 1].path, s->masks[i].path))
            free((char *)s->masks[i].path);
        else
            s->masks[n++] = s->masks[i];
    }
    s->n = n;
}

int project_excludes_find(int tree_fd, const sbr_request *req, struct plan_mask **ret,
                          size_t *ret_n, sbr_error *err)
{
    struct search s = { .req = req, .tree_fd = tree_fd };
    const struct walk walk = { .visit = visit,
                               .leave = leave,
                               .fail = fail,
                               .context = &s,
                               .stage = STAGE,
                               .flags = WALK_TYPES,
                               .max_depth = MAX_DEPTH,
                               .max_path = PATH_MAX };
    int r = project_excludes_open(tree_fd, req, &s.rules, err);

    if (r == 0)
        r = walk_tree(tree_fd, &walk, err);
    exclude_done(&s.rules);
    if (s.n)
        qsort(s.masks, s.n, sizeof(*s.masks), compare);
    drop_doubles(&s);
    *ret = s.masks;
    *ret_n = s.n;
    return r;
}

bool project_excludes_covers(const struct plan_mask *masks, size_t n, const char *path)
{
    bool covers = project_excludes_at(masks, n, path) != NULL;

    for (const char *slash = strchr(path, '/'); slash && !covers; slash = strchr(slash + 1, '/')) {
        scoped_free char *above = strndup(path, (size_t)(slash - path));

        covers = !above || project_excludes_at(masks, n, above);
    }
    return covers;
}

const struct plan_mask *project_excludes_at(const struct plan_mask *masks, size_t n,
                                            const char *path)
{
    const struct plan_mask key = { .path = path };

    return n ? bsearch(&key, masks, n, sizeof(*masks), compare) : NULL;
}

void project_excludes_done(struct plan_mask *masks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)masks[i].path);
    free(masks);
}
