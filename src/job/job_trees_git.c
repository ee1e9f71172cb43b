/* A project is often a git checkout, and programs in it call git.  What is left out is empty inside
 * and a program of the caller's lies there besides: to git both would be changes, which the next
 * commit inside would take along, and with `apply` it would reach the real repository.
 *
 *   tracked and left out    the index inside has the bit `skip-worktree` for it: unchanged
 *   left out, or put there  a line of .git/info/exclude inside: ignored
 *
 * Both files are written over the copy-on-write tree; as the program leaves them, they are no
 * change.  The bit goes again before an index that the program changed is compared or kept. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "changes/node.h"
#include "job/job_trees.h"
#include "toolchain/project_excludes.h"

#define INDEX ".git/index"
#define EXCLUDE ".git/info/exclude"
#define EXCLUDE_MAX ((size_t)1 << 20)

static bool read_file(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_len)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(dir_fd, path, &st);
    sbr_error ignored;

    return fd >= 0 && fd_read_text(fd, max, ret, ret_len, &ignored) == 0;
}

static bool is_left_out(const void *context, const char *path)
{
    const struct job_tree *tree = context;

    return project_excludes_covers(tree->masks, tree->n_masks, path);
}

/* Takes over the data. */
static int give(struct job_trees *trees, const char *path, char *data, size_t len, sbr_error *err)
{
    struct request_file *file = &trees->given[trees->n_given];

    *file = (struct request_file){ .path = strdup(path), .data = data, .len = len };
    trees->n_given++;
    return file->path && data ? 0 : err_set_oom(err, "git");
}

static int give_index(struct job_trees *trees, const char *data, size_t len, sbr_error *err)
{
    struct buf skipping;
    size_t skipping_len;
    char *taken;
    int r = git_index_skip(data, len, is_left_out, &trees->at[0], &skipping, err);

    if (r <= 0)
        return r;
    taken = buf_take(&skipping, &skipping_len);
    return give(trees, INDEX, taken, skipping_len, err);
}

/* A path as a pattern that means this path alone. */
static void put_pattern(struct buf *out, const char *path, bool directory)
{
    buf_add_text(out, "/");
    for (const char *p = path; *p; p++) {
        if (strchr("\\*?[] !#", *p))
            buf_add_text(out, "\\");
        buf_add(out, p, 1);
    }
    buf_add_text(out, directory ? "/\n" : "\n");
}

/* A name with a new line cannot stand in the file. */
static bool can_be_pattern(const char *path)
{
    return !strpbrk(path, "\r\n");
}

static void put_patterns(const sbr_job *job, struct buf *out)
{
    const struct job_trees *trees = job->trees;
    const struct job_tree *project = &trees->at[0];
    const sbr_request *req = job->req;
    const char *code = trees->code_name[0] ? trees->code_name
                       : job->language     ? job->language->source
                                           : NULL;

    for (size_t i = 0; i < project->n_masks; i++)
        if (can_be_pattern(project->masks[i].path))
            put_pattern(out, project->masks[i].path, project->masks[i].directory);
    for (size_t i = 0; i < req->n_files; i++)
        if (can_be_pattern(req->files[i].path))
            put_pattern(out, req->files[i].path, false);
    if (req->code && code)
        put_pattern(out, code, false);
}

static int give_exclude(sbr_job *job, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    scoped_free char *text = NULL;
    size_t len = 0;
    struct buf out;
    char *taken;

    if (!trees->at[0].n_masks && !job->req->n_files && !job->req->code)
        return 0;
    buf_init(&out, 2 * EXCLUDE_MAX);
    if (read_file(trees->at[0].source_fd, EXCLUDE, EXCLUDE_MAX, &text, &len) && len) {
        buf_add(&out, text, len);
        if (text[len - 1] != '\n')
            buf_add_text(&out, "\n");
    }
    put_patterns(job, &out);
    if (out.failed) { /* more than git could be told */
        buf_done(&out);
        return 0;
    }
    taken = buf_take(&out, &len);
    return give(trees, EXCLUDE, taken, len, err);
}

/* In another tree than the project, `.git` is not the program's concern. */
int job_trees_git_look(sbr_job *job, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    struct job_tree *project = trees->n ? &trees->at[0] : NULL;
    scoped_free char *data = NULL;
    size_t len = 0;
    struct stat st;

    if (!job->req->project || !project || project->source_fd < 0 || trees->n_given ||
        strcmp(project->target, INSIDE_WORK) != 0 || is_left_out(project, INDEX) ||
        fstatat(project->source_fd, ".git/HEAD", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if ((project->n_masks || job_trees_want_changes(job)) &&
        read_file(project->source_fd, INDEX, GIT_INDEX_MAX, &data, &len) &&
        git_index_sum(data, len, trees->index_sum) && project->n_masks &&
        give_index(trees, data, len, err) < 0)
        return err->code;
    return is_left_out(project, EXCLUDE) ? 0 : give_exclude(job, err);
}

int job_trees_git_end(struct job_trees *trees, sbr_error *err)
{
    const struct job_tree *project = &trees->at[0];
    int content_fd = trees->collected[project->part].content_fd;
    scoped_free char *data = NULL;
    scoped_fd int fd = -1;
    struct node_state seen;
    size_t len;

    if (!trees->n_given || strcmp(trees->given[0].path, INDEX) != 0 || content_fd < 0)
        return 0;
    fd = node_open_file(content_fd, INDEX, &seen);
    if (fd < 0 || fd_read_text(fd, GIT_INDEX_MAX, &data, &len, err) < 0)
        return 0;
    if ((len == trees->given[0].len && !memcmp(data, trees->given[0].data, len)) ||
        !git_index_unskip(data, len, is_left_out, project))
        return 0;
    scope_close_fd(&fd);
    fd = inode_open_beneath(content_fd, INDEX, O_WRONLY, 0);
    return fd < 0 || fd_write_all(fd, data, len) < 0
               ? err_set_errno(err, "git", "cannot write the index as it is kept")
               : 0;
}

void job_trees_git_done(struct job_trees *trees)
{
    for (size_t i = 0; i < trees->n_given; i++) {
        free(trees->given[i].path);
        free(trees->given[i].data);
    }
    trees->n_given = 0;
}
