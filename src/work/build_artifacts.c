#include "work/build_artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/text.h"
#include "changes/apply.h"
#include "changes/deliver.h"
#include "changes/node.h"
#include "model/executes.h"

#define WORK "/work/"
#define MOST_LOADED (64 << 20)

static bool is_own(const sbr_request *req, const char *path)
{
    for (size_t i = 0; i < req->n_files; i++)
        if (!strcmp(req->files[i].path, path))
            return true;
    return false;
}

/* Takes over `stored`. */
static int add(struct build_artifacts *to, const char *path, char *stored,
               const struct build_artifact *facts, sbr_error *err)
{
    struct build_artifact *grown = reallocarray(to->items, to->n + 1, sizeof(*grown));
    struct build_artifact one = *facts;

    if (grown)
        to->items = grown;
    one.path = strdup(path);
    one.stored = stored;
    if (!grown || !one.path || !stored) {
        free(one.path);
        free(stored);
        return err_set_oom(err, "build");
    }
    if (to->n == BUILD_ARTIFACTS_MOST) {
        free(one.path);
        free(stored);
        return err_set(err, SBR_E_INVALID, "build",
                       "the build made more than %d files in the places of its tool; name another "
                       "tool, or build a part",
                       BUILD_ARTIFACTS_MOST);
    }
    grown[to->n++] = one;
    return 0;
}

static bool is_made(const struct change *c)
{
    return c->op != CHANGE_DELETED && c->op != CHANGE_MODE &&
           (c->now.kind == NODE_FILE || c->now.kind == NODE_LINK);
}

static int read_changes(const struct build_tool *tool, const sbr_request *req,
                        const struct changes *changes, struct build_artifacts *ret, sbr_error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        const struct build_artifact facts = { .size = c->now.size,
                                              .executable =
                                                  c->now.kind == NODE_FILE && c->now.mode & 0111,
                                              .link = c->now.kind == NODE_LINK };

        if (strcmp(changes->roots[c->root].target, "/work") != 0 || !is_made(c) ||
            !build_tool_makes(tool, c->path) || (req->workspace && is_own(req, c->path)))
            continue;
        if (add(ret, c->path, text_format("%u/%s", c->root, c->path), &facts, err) < 0)
            return err->code;
    }
    return 0;
}

/* `saved` of a kept file is STATE/changes/ID/tree/files/RULE/PATH; the same file may be there for
 * two rules. */
static int read_files(const struct build_tool *tool, const sbr_request *req,
                      const struct output_files *files, struct build_artifacts *ret, sbr_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct output_file *f = &files->items[i];
        const char *path = strncmp(f->path, WORK, strlen(WORK)) ? NULL : f->path + strlen(WORK);
        const char *stored = f->saved ? strstr(f->saved, "/tree/files/") : NULL;
        const struct build_artifact facts = { .size = f->size };

        if (!path || !stored || is_own(req, path) || !build_tool_makes(tool, path) ||
            (ret->n && !strcmp(ret->items[ret->n - 1].path, path)))
            continue;
        if (add(ret, path, strdup(stored + strlen("/tree/")), &facts, err) < 0)
            return err->code;
    }
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct build_artifact *)a)->path,
                  ((const struct build_artifact *)b)->path);
}

/* What cannot be read has no sum; the kept changes are ours, so only the disk can be to blame. */
static int read_sums(struct build_artifacts *artifacts, sbr_error *err)
{
    struct changeset changeset;

    if (!artifacts->n || !artifacts->changes_id[0])
        return 0; /* a workspace has them */
    if (changeset_open(artifacts->changes_id, &changeset, err) < 0)
        return err->code;
    for (size_t i = 0; i < artifacts->n; i++) {
        struct build_artifact *a = &artifacts->items[i];
        struct stat st;

        if (node_sum(changeset.tree_fd, a->stored, a->sum) < 0)
            a->sum[0] = '\0';
        if (fstatat(changeset.tree_fd, a->stored, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            a->executable = a->executable || st.st_mode & 0111;
    }
    changeset_close(&changeset);
    return 0;
}

int build_artifacts_read(const struct build_tool *tool, const sbr_request *req,
                         const sbr_result *result, struct build_artifacts *ret, sbr_error *err)
{
    *ret = (struct build_artifacts){ 0 };
    if (!result->changes_id[0] && !req->workspace)
        return 0;
    snprintf(ret->changes_id, sizeof(ret->changes_id), "%s", result->changes_id);
    if ((req->project || req->workspace) && result->changes) {
        if (read_changes(tool, req, result->changes, ret, err) < 0)
            return err->code;
    } else if (read_files(tool, req, &result->files, ret, err) < 0) {
        return err->code;
    }
    if (ret->n)
        qsort(ret->items, ret->n, sizeof(*ret->items), compare_paths);
    return read_sums(ret, err);
}

void build_artifacts_done(struct build_artifacts *artifacts)
{
    for (size_t i = 0; i < artifacts->n; i++) {
        free(artifacts->items[i].path);
        free(artifacts->items[i].stored);
    }
    free(artifacts->items);
    *artifacts = (struct build_artifacts){ 0 };
}

static int copy_one(int tree_fd, int dir_fd, const struct build_artifact *a)
{
    scoped_free char *text = a->link ? node_link_text(tree_fd, a->stored, &(size_t){ 0 }) : NULL;
    struct node_state state;
    scoped_fd int from = -1;

    if (a->link)
        return text ? deliver_link(text, dir_fd, a->path) : -1;
    from = node_open_file(tree_fd, a->stored, &state);
    return from < 0 ? -1 : deliver_file(from, state.node.size, a->executable, dir_fd, a->path);
}

static int refuse_copy(const struct build_artifact *a, const char *dir, sbr_error *err)
{
    char shown[200];

    if (errno != EXDEV)
        return err_set_errno(err, "build", "cannot copy '%.200s' to '%.150s'", a->path, dir);
    text_copy_visibly(shown, sizeof(shown), a->path, strlen(a->path));
    return err_set(err, SBR_E_DENIED, "build",
                   "'%s' is a link that leads out of '%.150s', so it was not copied; all else "
                   "was",
                   shown, dir);
}

static int refuse_executed(const struct build_artifact *a, const char *what, sbr_error *err)
{
    char shown[200];

    text_copy_visibly(shown, sizeof(shown), a->path, strlen(a->path));
    return err_set(err, SBR_E_DENIED, "build",
                   "'%s' (%s) is what others execute or trust, so it was not copied; all else was; "
                   "have the build make none, or make it where the tool has no artifacts",
                   shown, what);
}

/* Goes on after what is refused.  `git status` below the copies, or an editor that opens them,
 * would act on what the build has chosen. */
static int copy_kind(const struct build_artifacts *artifacts, bool link, int tree_fd, int dir_fd,
                     const char *dir, sbr_error *err)
{
    int r = 0;

    for (size_t i = 0; i < artifacts->n; i++) {
        const struct build_artifact *a = &artifacts->items[i];
        size_t start;
        const char *what = executes_path(a->path, link ? NODE_LINK : NODE_FILE, &start);

        if (a->link != link)
            continue;
        if (what)
            r = r ? r : refuse_executed(a, what, err);
        else if (copy_one(tree_fd, dir_fd, a) < 0 && r == 0)
            r = refuse_copy(a, dir, err);
    }
    return r;
}

/* Files come first: with a link that leads out, all else is there. */
static int copy_all(const struct build_artifacts *artifacts, int tree_fd, int dir_fd,
                    const char *dir, sbr_error *err)
{
    sbr_error second;
    int r = copy_kind(artifacts, false, tree_fd, dir_fd, dir, err);

    return copy_kind(artifacts, true, tree_fd, dir_fd, dir, r ? &second : err) < 0 && r == 0
               ? err->code
               : r;
}

int build_artifacts_copy(const struct build_artifacts *artifacts, const char *dir,
                         const struct save_trees *trees, sbr_error *err)
{
    struct changeset changeset;
    scoped_fd int dir_fd = -1;
    int r;

    dir_fd = save_dir_open(dir, trees, true, err);
    if (dir_fd < 0)
        return err->code;
    if (!artifacts->n)
        return 0;
    if (changeset_open(artifacts->changes_id, &changeset, err) < 0)
        return err->code;
    r = copy_all(artifacts, changeset.tree_fd, dir_fd, dir, err);
    changeset_close(&changeset);
    return r;
}

static int load_one(int tree_fd, const struct build_artifact *a, struct request_file *ret,
                    sbr_error *err)
{
    struct node_state state;
    scoped_fd int fd = node_open_file(tree_fd, a->stored, &state);

    if (fd < 0)
        return err_set_errno(err, "build", "cannot read '%.200s'", a->path);
    ret->executable = a->executable;
    ret->path = strdup(a->path);
    if (!ret->path)
        return err_set_oom(err, "build");
    return fd_read_text(fd, MOST_LOADED, &ret->data, &ret->len, err);
}

int build_artifacts_load(const struct build_artifacts *artifacts, struct request_file **ret,
                         size_t *ret_n, sbr_error *err)
{
    struct request_file *files = calloc(artifacts->n + 1, sizeof(*files));
    struct changeset changeset;
    int r = 0;

    if (!files)
        return err_set_oom(err, "build");
    *ret = files;
    if (!artifacts->n)
        return 0;
    if (changeset_open(artifacts->changes_id, &changeset, err) < 0)
        return err->code;
    for (size_t i = 0; r == 0 && i < artifacts->n; i++)
        if (!artifacts->items[i].link)
            r = load_one(changeset.tree_fd, &artifacts->items[i], &files[(*ret_n)++], err);
    changeset_close(&changeset);
    return r;
}

const char *build_artifacts_differ(const struct build_artifacts *a, const struct build_artifacts *b)
{
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        const struct build_artifact *one, *two;
        int order;

        if (i >= a->n || i >= b->n)
            return i < a->n ? a->items[i].path : b->items[i].path;
        one = &a->items[i];
        two = &b->items[i];
        order = strcmp(one->path, two->path);
        if (order != 0)
            return order < 0 ? one->path : two->path;
        if (!one->sum[0] || strcmp(one->sum, two->sum) != 0)
            return one->path;
    }
    return NULL;
}

void build_artifacts_put_json(struct jsonw *j, const char *key,
                              const struct build_artifacts *artifacts)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < artifacts->n; i++) {
        const struct build_artifact *a = &artifacts->items[i];

        jsonw_open(j, NULL, '{');
        jsonw_path(j, "path", a->path);
        jsonw_number(j, "size", a->size);
        jsonw_bool(j, "executable", a->executable);
        jsonw_text(j, "sha256", a->sum[0] ? a->sum : NULL);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}
