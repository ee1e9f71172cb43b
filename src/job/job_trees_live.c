/* What the program has changed until now, while it lives.
 *
 * Init sends the changes as it does at the end, into a staging directory of their own: the parts of
 * the end stay empty until then.  What `apply` makes real meanwhile is remembered: it is no change
 * from outside, and when the program deletes it, the upper directory need not show that. */
#include <stdlib.h>
#include <string.h>

#include "changes/apply.h"
#include "changes/node.h"
#include "job/job_trees.h"

#define PATIENCE_US 60000000 /* for everything that init hands out */

/* What belongs to the end of the run, put aside. */
struct aside {
    struct staging staging;
    struct collect_part parts[PLAN_MAX_COLLECTS];
    struct collected collected[PLAN_MAX_COLLECTS];
    size_t n_parts;
};

static void put_aside(struct job_trees *trees, struct aside *aside)
{
    aside->staging = trees->staging;
    memcpy(aside->parts, trees->parts, sizeof(aside->parts));
    memcpy(aside->collected, trees->collected, sizeof(aside->collected));
    aside->n_parts = trees->n_parts;
    trees->staging = (struct staging){ .fd = -1, .lock_fd = -1 };
    trees->n_parts = 0;
}

static void take_back(struct job_trees *trees, const struct aside *aside)
{
    job_trees_drop_parts(trees);
    staging_discard(&trees->staging);
    trees->staging = aside->staging;
    memcpy(trees->parts, aside->parts, sizeof(aside->parts));
    memcpy(trees->collected, aside->collected, sizeof(aside->collected));
    trees->n_parts = aside->n_parts;
}

static int fetch(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct job_trees *trees = job->trees;

    if (job_trees_parts(job, now->plan, err) < 0)
        return err->code;
    if (trees->cow == COW_COPY || !now->plan->n_collects)
        return 0;
    if (collect_reader_next(&now->collect_reader, trees->parts, err) < 0)
        return err->code;
    if (!sandbox_collect(&now->box))
        return err_set_errno(err, "workspace", "cannot ask the sandbox for its changes");
    return collect_reader_wait(&now->collect_reader, PATIENCE_US, err);
}

static int look(sbr_job *job, bool keep, sbr_result *result, sbr_error *err)
{
    struct changes *changes = calloc(1, sizeof(*changes));
    int r;

    if (!changes)
        return err_set_oom(err, "workspace");
    result->changes = changes;
    r = fetch(job, err);
    if (r == 0 && !job_trees_gather(job, changes, result))
        r = err_set(err, SBR_E_DENIED, "workspace", "%.300s", result->explanation);
    if (r == 0 && job->render)
        r = job_trees_render(job, changes, result, err);
    if (r == 0 && keep && changes->n)
        r = job_trees_keep(job, changes, result, err);
    return r;
}

int job_trees_look_now(sbr_job *job, bool keep, sbr_result *result, sbr_error *err)
{
    struct job_trees *trees = job->trees;
    struct aside *aside;
    sbr_error ignored; /* then the end of the run says that its changes are lost */
    int r;

    if (!trees || !trees->n_parts)
        return err_set(err, SBR_E_INVALID, "workspace",
                       "there is no copy-on-write tree; --project DIR gives one");
    aside = malloc(sizeof(*aside));
    if (!aside)
        return err_set_oom(err, "workspace");
    trees->keeps_now = keep;
    put_aside(trees, aside);
    monitor_pause(&job->now.monitor);
    r = look(job, keep, result, err);
    monitor_resume(&job->now.monitor);
    take_back(trees, aside);
    free(aside);
    trees->keeps_now = false;
    if (job->now.collecting)
        (void)!collect_reader_next(&job->now.collect_reader, trees->parts, &ignored);
    return r;
}

static struct job_tree *tree_of(struct job_trees *trees, unsigned int root)
{
    for (size_t i = 0; i < trees->n; i++)
        if (trees->at[i].part >= 0 && root-- == 0)
            return &trees->at[i];
    return NULL;
}

static int make_room(struct job_trees *trees)
{
    size_t n = trees->n_applied + 1;
    void *applied = reallocarray(trees->applied, n, sizeof(*trees->applied));
    void *known = reallocarray(trees->known, n, sizeof(*trees->known));

    if (applied)
        trees->applied = applied;
    if (known)
        trees->known = known;
    return applied && known ? 0 : -1;
}

static int note_applied(struct job_trees *trees, const struct change *change, sbr_error *err)
{
    const struct job_tree *tree = tree_of(trees, change->root);
    size_t n = trees->n_applied;
    struct node_state now = { 0 };

    if (!tree || node_look(tree->source_fd, change->path, &now) < 0 || now.node.kind == NODE_NONE)
        return 0;
    if (make_room(trees) < 0)
        return err_set_oom(err, "workspace");
    trees->applied[n] = (struct job_applied){ .root = change->root,
                                              .path = strdup(change->path),
                                              .created = change->op == CHANGE_CREATED ||
                                                         change->op == CHANGE_RENAMED };
    if (!trees->applied[n].path)
        return err_set_oom(err, "workspace");
    trees->known[n] = (struct compare_known){ now.ino, now.ctime_ns };
    trees->n_applied++;
    return 0;
}

int job_trees_applied(sbr_job *job, const char *id, const char *const *paths, size_t n_paths,
                      sbr_error *err)
{
    struct apply_options options = { .paths = paths, .n_paths = n_paths };
    struct changeset changeset;
    struct changes selected = { 0 };
    int r;

    if (!job->trees || changeset_open(id, &changeset, err) < 0)
        return job->trees ? err->code : 0;
    r = apply_select(&changeset, &options, &selected, err);
    for (size_t i = 0; r == 0 && i < selected.n; i++)
        r = note_applied(job->trees, &selected.items[i], err);
    free(selected.items);
    changeset_close(&changeset);
    return r;
}
