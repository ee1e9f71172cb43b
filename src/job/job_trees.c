#include "job/job_trees.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "toolchain/project_excludes.h"

#define TREES_COW "cow"   /* uppers and copies: STAGE-INDEX */
#define TREES_TREE "tree" /* collected contents: INDEX, files/RULE */

static int open_staging(struct job_trees *trees, sbr_error *err)
{
    if (trees->staging.fd >= 0)
        return 0;
    if (staging_open(&trees->staging, err) < 0)
        return err->code;
    if (mkdirat(trees->staging.fd, TREES_TREE, 0700) < 0 ||
        mkdirat(trees->staging.fd, TREES_TREE "/files", 0700) < 0 ||
        mkdirat(trees->staging.fd, TREES_COW, 0700) < 0)
        return err_set_errno(err, "workspace", "cannot write to '%.200s'", trees->staging.path);
    return 0;
}

static int make_dir(const struct job_trees *trees, const char *name, int *ret_fd, sbr_error *err)
{
    scoped_fd int fd = -1;

    if (mkdirat(trees->staging.fd, name, 0700) == 0)
        fd = openat(trees->staging.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "workspace", "cannot make '%.200s/%s'", trees->staging.path,
                             name);
    *ret_fd = take_fd(fd);
    return 0;
}

/* A new name each time, because a backend that was refused may have left files. */
static int make_cow_dir(struct job_trees *trees, struct job_tree *tree, int *ret_fd, sbr_error *err)
{
    char name[TREES_NAME];

    if (open_staging(trees, err) < 0)
        return err->code;
    snprintf(name, sizeof(name), TREES_COW "/%u", trees->n_made++);
    snprintf(tree->made, sizeof(tree->made), "%.1000s/%s", trees->staging.path, name);
    return make_dir(trees, name, ret_fd, err);
}

static int make_upper(struct job_trees *trees, struct job_tree *tree, sbr_error *err)
{
    scoped_fd int fd = -1;

    if (make_cow_dir(trees, tree, &fd, err) < 0)
        return err->code;
    if (mkdirat(fd, "upper", 0755) < 0 || mkdirat(fd, "work", 0755) < 0)
        return err_set_errno(err, "workspace", "cannot make '%.200s/upper'", tree->made);
    return 0;
}

/* The loop does not turn during a copy, so this notices that the job was cancelled. */
static bool copy_goes_on(void *context, uint64_t files, uint64_t bytes)
{
    sbr_job *job = context;
    uint64_t count;

    if (job->on_copy)
        job->on_copy(job->on_stage_context, files, bytes);
    if (read(job->cancel_fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
        job->cancelled = true;
    return !job->cancelled;
}

static bool is_left_out(const void *tree, const char *path)
{
    const struct job_tree *of = tree;

    return project_excludes_at(of->masks, of->n_masks, path);
}

static int make_copy(sbr_job *job, struct job_tree *tree, sbr_error *err)
{
    struct copy_progress progress = {
        .report = copy_goes_on, .context = job, .is_left_out = is_left_out, .tree = tree
    };
    struct stat st;

    scope_close_fd(&tree->copy_fd);
    tree->copy_fd = -1;
    if (make_cow_dir(job->trees, tree, &tree->copy_fd, err) < 0)
        return err->code;
    copy_done(&tree->copied);
    if (fstat(tree->source_fd, &st) < 0 || fchmod(tree->copy_fd, st.st_mode & 0777) < 0)
        return err_set_errno(err, "workspace", "cannot copy '%.200s'", tree->source);
    return copy_tree(tree->source_fd, tree->copy_fd, &progress, &tree->copied, err);
}

/* Compile and check see the tree at /work too; their changes to it are dropped. */
static bool is_for(const sbr_job *job, const struct job_tree *tree, enum stage stage)
{
    if (stage == STAGE_RUN || tree->image)
        return true;
    return (stage == STAGE_COMPILE || stage == STAGE_CHECK ||
            (stage == STAGE_INSTALL && job->req->of_project)) &&
           !strcmp(tree->target, INSIDE_WORK);
}

static bool is_collected(const sbr_job *job, const struct job_tree *tree, enum stage stage)
{
    return stage == STAGE_RUN && tree->mode == VOLUME_COW && !tree->image &&
           (job_trees_want_changes(job) || job->notices_changes ||
            (job->req->workspace && tree == job->trees->at));
}

/* Who is only to learn that something was changed does not wait for contents. */
static bool needs_names_only(const sbr_job *job, const struct job_tree *tree)
{
    return !job_trees_want_changes(job) && !(job->req->workspace && tree == job->trees->at);
}

static struct plan_tree plan_of(const sbr_job *job, const struct job_tree *tree, enum stage stage)
{
    return (struct plan_tree){ .source = tree->source,
                               .target = stage == STAGE_INSTALL && !tree->image ? INSIDE_PROJECT
                                                                                : tree->target,
                               .mode = tree->mode,
                               .sockets = tree->sockets,
                               .plain = tree->plain,
                               .image = tree->image,
                               .cow = job->trees->cow,
                               .was = tree->was,
                               .masks = tree->masks,
                               .n_masks = tree->n_masks,
                               .collect = is_collected(job, tree, stage),
                               .names = needs_names_only(job, tree) };
}

static void use_copy(struct plan_tree *planned, const char *copy)
{
    planned->source = copy;
    planned->was = (struct inode_id){ 0 };
}

static bool show_plain(struct job_trees *trees)
{
    bool changed = false;

    for (size_t i = 0; i < trees->n; i++) {
        changed |= !trees->at[i].plain;
        trees->at[i].plain = true;
    }
    return changed;
}

bool job_trees_have_another_way(struct job_trees *trees, enum err_retry retry)
{
    if (!trees)
        return false;
    if (retry == ERR_WITHOUT_VIEW)
        return show_plain(trees);
    if (retry != ERR_WITH_OTHER_COW || trees->cow == COW_COPY)
        return false;
    trees->cow++;
    return true;
}

void job_trees_plan(sbr_job *job)
{
    struct job_trees *trees = job->trees;

    for (size_t i = 0; i < trees->n; i++) {
        struct plan_tree planned = plan_of(job, &trees->at[i], STAGE_RUN);

        if (planned.mode == VOLUME_COW && planned.cow == COW_DISK)
            planned.upper = "/made-for-the-run";
        if (planned.mode == VOLUME_COW && planned.cow == COW_COPY)
            use_copy(&planned, "/copied-for-the-run");
        trees->planned[trees->n_planned++] = planned;
    }
}

static int prepare_tree(sbr_job *job, struct job_tree *tree, enum stage stage, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    struct plan_tree planned = plan_of(job, tree, stage);

    if (tree->mode == VOLUME_COW && trees->cow == COW_DISK) {
        if (make_upper(trees, tree, err) < 0)
            return err->code;
        planned.upper = tree->made;
    }
    if (tree->mode == VOLUME_COW && trees->cow == COW_COPY) {
        if (make_copy(job, tree, err) < 0)
            return err->code;
        use_copy(&planned, tree->made);
    }
    trees->planned[trees->n_planned++] = planned;
    return 0;
}

int job_trees_prepare(sbr_job *job, enum stage stage, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    struct timespec now;

    if (!trees)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    trees->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    trees->n_planned = 0;
    for (size_t i = 0; i < trees->n; i++)
        if (is_for(job, &trees->at[i], stage) && prepare_tree(job, &trees->at[i], stage, err) < 0)
            return err->code;
    return 0;
}

/* A directory for contents: of a tree's changes, named by their root, or of an output's files. */
static int add_part(struct job_trees *trees, const char *name, sbr_error *err)
{
    struct collected *collected = &trees->collected[trees->n_parts];

    *collected = (struct collected){ .content_fd = -1 };
    if (make_dir(trees, name, &collected->content_fd, err) < 0)
        return err->code;
    buf_init(&collected->list.text, SIZE_MAX / 2);
    trees->parts[trees->n_parts++] =
        (struct collect_part){ .dir_fd = collected->content_fd, .list = &collected->list };
    return 0;
}

static struct job_tree *next_collected(sbr_job *job, size_t *at)
{
    struct job_trees *trees = job->trees;

    while (*at < trees->n) {
        struct job_tree *tree = &trees->at[(*at)++];

        if (is_collected(job, tree, STAGE_RUN))
            return tree;
    }
    return NULL;
}

/* The supervisor itself scans copies; their parts come after those of the plan. */
static int add_copies(sbr_job *job, sbr_error *err)
{
    struct job_tree *tree;
    char name[TREES_NAME];
    unsigned int root = 0;

    for (size_t at = 0; job->trees->cow == COW_COPY && (tree = next_collected(job, &at));) {
        tree->part = (int)job->trees->n_parts;
        snprintf(name, sizeof(name), TREES_TREE "/%u", root++);
        if (add_part(job->trees, name, err) < 0)
            return err->code;
    }
    return 0;
}

int job_trees_parts(sbr_job *job, const struct plan *plan, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    size_t at = 0;
    unsigned int root = 0, rule = 0;
    char name[TREES_NAME];

    if (!trees || (!plan->n_collects && !(trees->cow == COW_COPY && next_collected(job, &at))))
        return 0;
    if (open_staging(trees, err) < 0)
        return err->code;
    at = 0;
    for (size_t i = 0; i < plan->n_collects; i++) {
        struct job_tree *tree =
            plan->collects[i].what == COLLECTS_CHANGES || plan->collects[i].what == COLLECTS_NAMES
                ? next_collected(job, &at)
                : NULL;

        if (tree) {
            tree->part = (int)trees->n_parts;
            snprintf(name, sizeof(name), TREES_TREE "/%u", root++);
        } else {
            snprintf(name, sizeof(name), TREES_TREE "/files/%u", rule++);
        }
        if (add_part(trees, name, err) < 0)
            return err->code;
    }
    return add_copies(job, err);
}
