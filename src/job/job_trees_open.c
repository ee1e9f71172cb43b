/* Checks the sources of trees before anything is made: a wrong one is reported in one sentence. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/way.h"
#include "changes/setid.h"
#include "image/image.h"
#include "job/job_trees.h"
#include "plan/plan.h"
#include "sandbox/mount_below.h"
#include "toolchain/project.h"
#include "toolchain/project_excludes.h"

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFSOCK:
        return "a socket";
    case S_IFIFO:
        return "a named pipe";
    case S_IFBLK:
    case S_IFCHR:
        return "a device";
    case S_IFREG:
        return "a file";
    default:
        return "something else";
    }
}

static int refuse_link(const char *option, const char *source, int fd, sbr_error *err)
{
    char target[512];
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

    target[n > 0 ? n : 0] = '\0';
    return err_set(err, SBR_E_INVALID, "volumes",
                   "%s: '%.150s' is a symbolic link to '%.150s'; name what it leads to", option,
                   source, target);
}

/* For the test that shows what the check prevents. */
static bool leaves_out_look(void)
{
#ifdef SBR_TEST_HOOKS
    return plan_list_has(getenv("SANDBOX_RUN_TEST_WITHOUT"), "setid-look");
#else
    return false;
#endif
}

/* The sandbox opens the source again by its name, so it compares what it finds with what was here
 * (inode_id_check). */
static int check_source(const char *option, struct job_tree *tree, sbr_error *err)
{
    scoped_fd int fd = way_open(tree->source, O_PATH);
    struct stat st;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, SBR_E_INVALID, "volumes",
                       "%s: there is no '%.200s'; make it, or correct the path", option,
                       tree->source);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, SBR_E_DENIED, "volumes",
                       "%s: '%.200s' goes through a link that another user can change; name what "
                       "it leads to",
                       option, tree->source);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "volumes", "%s: cannot look at '%.200s'", option, tree->source);
    if (S_ISLNK(st.st_mode))
        return refuse_link(option, tree->source, fd, err);
    if (!S_ISDIR(st.st_mode) && tree->mode == VOLUME_COW)
        return err_set(err, SBR_E_INVALID, "volumes",
                       "%s: '%.200s' is %s; only a directory can be copy-on-write", option,
                       tree->source, kind_of(st.st_mode));
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "volumes",
                       "%s: '%.200s' is %s; only files and directories can be brought in", option,
                       tree->source, kind_of(st.st_mode));
    tree->was = inode_id_of(&st);
    return tree->mode == VOLUME_RW && !leaves_out_look() ? setid_look(tree->source, err) : 0;
}

/* A workspace holds what sandboxes made, and an image what its author gave away. */
static int find_masks(const sbr_job *job, struct job_tree *tree, sbr_error *err)
{
    if (tree->image || (job->req->workspace && !strcmp(tree->target, INSIDE_WORK)))
        return 0;
    return project_excludes_find(tree->source_fd, job->req, &tree->masks, &tree->n_masks, err);
}

static int open_source(const sbr_job *job, struct job_tree *tree, sbr_error *err)
{
    struct stat st;

    if (tree->mode != VOLUME_COW)
        return 0;
    tree->source_fd = way_open(tree->source, O_RDONLY | O_DIRECTORY);
    if (tree->source_fd < 0 || fstat(tree->source_fd, &st) < 0)
        return err_set_errno(err, "volumes", "cannot read '%.200s'", tree->source);
    if (inode_id_check(tree->was, &st, tree->source, err) < 0)
        return err->code;
    if (!tree->image)
        tree->was = inode_id_of(&st);
    return find_masks(job, tree, err);
}

static bool is_within(const char *path, const char *top)
{
    size_t len = strlen(top);

    while (len > 1 && top[len - 1] == '/')
        len--;
    return !strncmp(path, top, len) && (path[len] == '\0' || path[len] == '/' || len == 1);
}

/* Compares what the paths lead to, so that links do not hide an overlap. */
static bool are_one(const char *a, const char *b)
{
    scoped_free char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);

    a = real_a ? real_a : a;
    b = real_b ? real_b : b;
    return is_within(a, b) || is_within(b, a);
}

/* The source of a copy-on-write tree must not change through another volume. */
static int check_overlaps(const struct job_trees *trees, sbr_error *err)
{
    for (size_t i = 0; i < trees->n; i++) {
        for (size_t j = 0; j < trees->n; j++) {
            const struct job_tree *cow = &trees->at[i], *rw = &trees->at[j];

            if (cow->mode == VOLUME_COW && rw->mode == VOLUME_RW &&
                are_one(cow->source, rw->source))
                return err_set(
                    err, SBR_E_INVALID, "volumes",
                    "'%.150s' is copy-on-write and '%.150s' is written through, and one is "
                    "in the other; make both cow, or bring in directories apart",
                    cow->source, rw->source);
        }
    }
    return 0;
}

enum passage { PASSES_BY, PASSES_THROUGH, PASSES_LINK };

/* Whether the way to `path` depends on names of the tree: a program that writes to it can change
 * them, and a project may have a link there. */
static enum passage find_passage(const char *path, const struct job_tree *tree)
{
    struct way_tree top = { .written = tree->mode == VOLUME_RW };
    struct way way;
    scoped_fd int fd = -1;

    if (stat(tree->source, &top.st) < 0)
        return PASSES_THROUGH;
    way = way_follow(path, &(struct way_rules){ .trees = &top, .n_trees = 1, .no_links = true });
    fd = way.fd;
    if (fd < 0 || way.crosses)
        return PASSES_THROUGH;
    return way.linked ? PASSES_LINK : PASSES_BY;
}

/* The program could put a link in place of an output's directory, and the caller would write to
 * where it leads. */
static int check_outputs(const sbr_request *req, const struct job_trees *trees, sbr_error *err)
{
    static const struct {
        const char *lies, *why;
    } said[] = {
        [PASSES_THROUGH] = { "lies in", "where the program could put a link in its place; save to "
                                        "a directory that it cannot write to" },
        [PASSES_LINK] = { "goes through a link of",
                          "which is not followed; name what it leads to" },
    };
    const struct output_rules *rules = &req->outputs;

    for (size_t i = 0; i < trees->n; i++) {
        const struct job_tree *tree = &trees->at[i];

        for (size_t j = 0; tree->mode != VOLUME_RO && !tree->image && j < rules->n; j++) {
            enum passage passage =
                rules->items[j].dir ? find_passage(rules->items[j].dir, tree) : PASSES_BY;

            if (passage != PASSES_BY)
                return err_set(err, SBR_E_INVALID, "outputs", "%s: '%.150s' %s '%.150s', %s",
                               request_word(req, CALLED_OUTPUT), rules->items[j].dir,
                               said[passage].lies, tree->source, said[passage].why);
        }
    }
    return 0;
}

static struct job_tree *add_tree(struct job_trees *trees, const char *source, const char *target,
                                 enum volume_mode mode)
{
    struct job_tree *tree = &trees->at[trees->n++];

    *tree = (struct job_tree){
        .source = source, .target = target, .mode = mode, .source_fd = -1, .copy_fd = -1, .part = -1
    };
    return tree;
}

static void list_image(const sbr_job *job, struct job_trees *trees)
{
    const struct image *image = job->image;

    for (size_t i = 0; i < image->n_trees; i++) {
        const struct image_tree *one = &image->trees[i];

        add_tree(trees, one->source, one->target, one->is_file ? VOLUME_RO : VOLUME_COW)->image =
            true;
    }
}

/* Links of the image may lie on the way to a volume. */
static int place_volumes(const sbr_job *job, struct job_trees *trees, sbr_error *err)
{
    for (size_t i = 0; i < trees->n; i++) {
        struct job_tree *tree = &trees->at[i];

        if (tree->image || !strcmp(tree->target, INSIDE_WORK))
            continue;
        if (image_place(job->image, job->language, tree->target, tree->inside, err) < 0)
            return err->code;
        tree->target = tree->inside;
    }
    return 0;
}

/* The tree at /work comes first; a workspace is added once it is open. */
static int list_trees(const sbr_job *job, struct job_trees *trees, sbr_error *err)
{
    const sbr_request *req = job->req;
    const char *word = request_word(req, CALLED_VOLUME);

    if (req->project &&
        check_source(request_word(req, CALLED_PROJECT),
                     add_tree(trees, req->project, INSIDE_WORK, VOLUME_COW), err) < 0)
        return err->code;
    for (size_t i = 0; i < req->n_volumes; i++) {
        const struct request_volume *volume = &req->volumes[i];

        struct job_tree *tree = add_tree(trees, volume->source, volume->target, volume->mode);

        tree->sockets = volume->sockets;
        if (check_source(word, tree, err) < 0 ||
            (!job->writes_own && own_places_check(word, volume->source, volume->mode, err) < 0))
            return err->code;
        /* An overlay would show what another mount covers. */
        tree->plain = tree->mode == VOLUME_RO && mount_is_below(tree->source);
    }
    if (job->image)
        list_image(job, trees);
    if (job->image && place_volumes(job, trees, err) < 0)
        return err->code;
    if (check_overlaps(trees, err) < 0)
        return err->code;
    return check_outputs(req, trees, err);
}

static bool is_wanted(const sbr_job *job)
{
    const sbr_request *req = job->req;

    return req->project || req->workspace || req->n_volumes || req->outputs.n || job->image;
}

static int make_trees(sbr_job *job, sbr_error *err)
{
    if (job->trees || !is_wanted(job))
        return 0;
    job->trees = calloc(1, sizeof(*job->trees));
    if (!job->trees)
        return err_set_oom(err, "volumes");
    job->trees->cow = job->rt->features.cow;
    job->trees->staging.fd = job->trees->staging.lock_fd = -1;
    return list_trees(job, job->trees, err);
}

static void put_first(struct job_trees *trees, const char *source)
{
    struct job_tree tree = *add_tree(trees, source, INSIDE_WORK, VOLUME_COW);

    memmove(&trees->at[1], &trees->at[0], (trees->n - 1) * sizeof(trees->at[0]));
    trees->at[0] = tree;
}

/* Limits that the request gives become the quota. */
static enum trees_opened take_workspace(sbr_job *job, sbr_error *err)
{
    const struct limits *limits = &job->req->limits;
    struct job_trees *trees = job->trees;
    struct workspace_quota quota = {
        .bytes = limits->given & 1u << SBR_DISK_BYTES ? limits->value[SBR_DISK_BYTES] : 0,
        .inodes = limits->given & 1u << SBR_INODES ? limits->value[SBR_INODES] : 0,
    };
    uint64_t now = clock_now_us();
    int r = workspace_open(job->req->workspace, true, quota, &trees->workspace, err);

    if (r == WORKSPACE_BUSY && !trees->waiting_since)
        trees->waiting_since = now;
    if (r != WORKSPACE_HELD)
        return r < 0 ? TREES_ERROR : TREES_BUSY;
    trees->queue_us = trees->waiting_since ? now - trees->waiting_since : 0;
    trees->is_named = true;
    put_first(trees, trees->workspace.tree);
    return TREES_OPEN;
}

static int open_sources(const sbr_job *job, sbr_error *err)
{
    struct job_trees *trees = job->trees;

    for (size_t i = 0; i < trees->n; i++)
        if (trees->at[i].source_fd < 0 && open_source(job, &trees->at[i], err) < 0)
            return err->code;
    return 0;
}

/* What is left out of the project is no manifest of it either. */
static void drop_left_out(struct job_trees *trees)
{
    const struct job_tree *project = &trees->at[0];
    size_t n = 0;

    for (size_t i = 0; i < trees->n_manifests; i++) {
        struct request_file *file = &trees->manifests[i];

        if (project_excludes_covers(project->masks, project->n_masks, file->path)) {
            free(file->path);
            free(file->data);
        } else {
            trees->manifests[n++] = *file;
        }
    }
    trees->n_manifests = n;
}

/* In a workspace, the code may replace a file of the same name. */
static int look_at_project(sbr_job *job, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    int fd = trees->n && !strcmp(trees->at[0].target, INSIDE_WORK) ? trees->at[0].source_fd : -1;

    if (!job->language || fd < 0 || trees->manifests)
        return 0;
    if (job->req->program && project_program(fd, job->req->program, err) < 0)
        return err->code;
    if (project_manifests(fd, job->language, &trees->manifests, &trees->n_manifests, err) < 0)
        return err->code;
    drop_left_out(trees);
    if (!job->req->code || job->req->workspace)
        return 0;
    return project_code_name(fd, job->language, trees->code_name, sizeof(trees->code_name), err);
}

void job_trees_open_early(sbr_job *job)
{
    sbr_error err = { 0 };

    if ((make_trees(job, &err) < 0 || (job->trees && open_sources(job, &err) < 0)) && job->trees)
        job->trees->early = err;
}

enum trees_opened job_trees_open(sbr_job *job, sbr_error *err)
{
    enum trees_opened opened = TREES_OPEN;

    if (job->trees && job->trees->early.code) {
        *err = job->trees->early;
        return TREES_ERROR;
    }
    if (make_trees(job, err) < 0)
        return TREES_ERROR;
    if (!job->trees)
        return TREES_OPEN;
    if (job->req->workspace && !job->trees->is_named)
        opened = take_workspace(job, err);
    if (opened != TREES_OPEN)
        return opened;
    if (open_sources(job, err) < 0 || look_at_project(job, err) < 0 ||
        job_trees_git_look(job, err) < 0)
        return TREES_ERROR;
    return TREES_OPEN;
}

int job_trees_look(sbr_job *job, sbr_error *err)
{
    if (make_trees(job, err) < 0)
        return err->code;
    if (!job->trees)
        return 0;
    if (job->req->workspace)
        put_first(job->trees, "/kept-workspace");
    else if (open_sources(job, err) < 0)
        return err->code;
    job_trees_plan(job);
    return look_at_project(job, err);
}

#define TIDY_BYTES (1u << 20)
#define TIDY_INODES 4096 /* a deleted file takes one until the workspace is saved */

/* A program must be able to tidy up a full workspace; workspace_save refuses what does not fit. */
static uint64_t what_is_left(uint64_t quota, uint64_t used, enum sbr_limit which)
{
    uint64_t least = limit_defs[which].min;

    if (used >= quota)
        return which == SBR_INODES ? TIDY_INODES : TIDY_BYTES;
    return quota - used > least ? quota - used : least;
}

void job_trees_limits(const sbr_job *job, struct limits *limits)
{
    const struct workspace_info *info;

    if (!job->trees || !job->trees->is_named)
        return;
    info = &job->trees->workspace.info;
    limits->value[SBR_DISK_BYTES] =
        what_is_left(info->quota_bytes, info->used_bytes, SBR_DISK_BYTES);
    limits->value[SBR_INODES] = what_is_left(info->quota_inodes, info->used_inodes, SBR_INODES);
}

static void manifests_done(struct job_trees *trees)
{
    for (size_t i = 0; i < trees->n_manifests; i++) {
        free(trees->manifests[i].path);
        free(trees->manifests[i].data);
    }
    free(trees->manifests);
}

void job_trees_drop_parts(struct job_trees *trees)
{
    for (size_t i = 0; i < trees->n_parts; i++) {
        scope_close_fd(&trees->collected[i].content_fd);
        collect_list_done(&trees->collected[i].list);
    }
    trees->n_parts = 0;
}

void job_trees_done(sbr_job *job)
{
    struct job_trees *trees = job->trees;

    if (!trees)
        return;
    for (size_t i = 0; i < trees->n; i++) {
        scope_close_fd(&trees->at[i].source_fd);
        scope_close_fd(&trees->at[i].copy_fd);
        copy_done(&trees->at[i].copied);
        project_excludes_done(trees->at[i].masks, trees->at[i].n_masks);
    }
    job_trees_drop_parts(trees);
    if (trees->is_named)
        workspace_close(&trees->workspace);
    for (size_t i = 0; i < trees->n_applied; i++)
        free(trees->applied[i].path);
    free(trees->applied);
    free(trees->known);
    staging_discard(&trees->staging);
    manifests_done(trees);
    job_trees_git_done(trees);
    free(trees);
    job->trees = NULL;
}
