/* The trees of a job: volumes, the project or workspace at /work, and what is collected of them.
 *
 *   job_trees_open      checks the sources, locks the workspace               before the stages
 *   job_trees_prepare   makes uppers and copies where they are needed         for each stage
 *   job_trees_parts     makes directories for the run's changes and outputs   for the run
 *   job_trees_end       compares, keeps and saves changes, delivers outputs   after the run
 *
 * job->trees is NULL for a job without any. */
#ifndef JOB_JOB_TREES_H
#define JOB_JOB_TREES_H

#include "changes/collected.h"
#include "changes/compare.h"
#include "changes/copy_tree.h"
#include "changes/state_dir.h"
#include "job/job_types.h"
#include "workspace/workspace.h"

#define TREES_NAME 96 /* "cow/0-0" and the like, in the staging */

struct job_tree {
    const char *source; /* on the host; of the request or of the workspace */
    const char *target;
    char inside[REQUEST_MAX_PATH + 1]; /* the target where links of an image lead to another one */
    enum volume_mode mode;
    bool sockets, plain, image; /* see struct plan_tree */
    struct inode_id was;        /* what `source` led to; of an image none, which the store knows */
    int source_fd;              /* of cow trees; -1 otherwise */
    int copy_fd;                /* of the current stage's copy; -1: there is none */
    int part;                   /* of collect_reader, for its changes; -1: none */
    char made[STATE_PATH_SIZE]; /* upper or copy of the current stage */
    struct copied copied;       /* of the current stage's copy */
    struct plan_mask *masks;    /* what it leaves out, sorted; of cow trees */
    size_t n_masks;
};

/* A path that `apply` made real while the program runs. */
struct job_applied {
    unsigned int root; /* of the collected trees */
    char *path;
    bool created; /* the tree below did not have it when the run began */
};

struct job_trees {
    struct job_tree at[PLAN_MAX_TREES];
    size_t n;
    struct plan_tree planned[PLAN_MAX_TREES]; /* the current stage's */
    size_t n_planned;
    enum cow_kind cow; /* the backend that has not been refused yet */
    struct staging staging;
    unsigned int n_made; /* uppers and copies in it */
    struct workspace workspace;
    sbr_error early;        /* why job_trees_open_early failed; no code: it did not */
    bool is_named;          /* `workspace` is open */
    uint64_t waiting_since; /* for the workspace, microseconds; 0: not waiting */
    uint64_t queue_us;
    struct request_file
        given[2]; /* job_trees_git.c: what the program's git sees of its own files */
    size_t n_given;
    char index_sum[SHA256_HEX_SIZE]; /* of the project's git index; empty: it has none */
    struct request_file *manifests;
    size_t n_manifests;
    char code_name[REQUEST_MAX_PATH]; /* empty: the language's own */
    struct collect_part parts[PLAN_MAX_COLLECTS];
    struct collected collected[PLAN_MAX_COLLECTS];
    size_t n_parts;
    int64_t started_ns; /* CLOCK_REALTIME */
    bool keeps_now;     /* what is collected before the end becomes a changeset */
    struct job_applied *applied;
    struct compare_known *known; /* one for each of `applied` */
    size_t n_applied;
};

enum trees_opened { TREES_OPEN, TREES_BUSY /* another run has the workspace */, TREES_ERROR };
/* The part that takes long where trees are large: any thread may do it before the job begins, which
 * fails then as this did. */
void job_trees_open_early(sbr_job *job);
enum trees_opened job_trees_open(sbr_job *job, sbr_error *err) must_check;
/* The same for a plan alone: takes and makes nothing. */
int job_trees_look(sbr_job *job, sbr_error *err) must_check;
/* Lowers the limits of the run to what a workspace has left. */
void job_trees_limits(const sbr_job *job, struct limits *limits);
/* The run's view of them with nothing made for it; for plans. */
void job_trees_plan(sbr_job *job);
int job_trees_prepare(sbr_job *job, enum stage stage, sbr_error *err) must_check;
/* After a refusal: whether another way to bring them in is left, which the next
 * job_trees_prepare takes.  `trees` may be NULL. */
bool job_trees_have_another_way(struct job_trees *trees, enum err_retry retry);
/* One part for each of the plan's collects; nothing without trees. */
int job_trees_parts(sbr_job *job, const struct plan *plan, sbr_error *err) must_check;
/* After the run; may change the verdict. */
int job_trees_end(sbr_job *job, sbr_result *result, sbr_error *err) must_check;
void job_trees_done(sbr_job *job);

/* job_trees_git.c: before the run, what git inside must not take for a change of the program's: a
 * file that is left out, and the program itself. */
int job_trees_git_look(sbr_job *job, sbr_error *err) must_check;
/* After the run, before the comparison: the index as git outside understands it. */
int job_trees_git_end(struct job_trees *trees, sbr_error *err) must_check;
void job_trees_git_done(struct job_trees *trees);
/* Forgets what was collected. */
void job_trees_drop_parts(struct job_trees *trees);

/* job_trees_live.c: while the program runs, which stands still meanwhile.  Fills `changes`, with
 * job->render `diff`, and with `keep` `changes_id` of the result. */
int job_trees_look_now(sbr_job *job, bool keep, sbr_result *result, sbr_error *err) must_check;
/* Changes of the changeset `id` were applied: those at `paths` and below; none: all. */
int job_trees_applied(sbr_job *job, const char *id, const char *const *paths, size_t n_paths,
                      sbr_error *err) must_check;
/* job_trees_end.c: false, and `result` says why, when some changes are lost. */
bool job_trees_gather(sbr_job *job, struct changes *changes, sbr_result *result);
int job_trees_render(const sbr_job *job, const struct changes *changes, sbr_result *result,
                     sbr_error *err) must_check;
int job_trees_keep(sbr_job *job, const struct changes *changes, sbr_result *result, sbr_error *err)
    must_check;

/* Whether the caller wants to know what was changed. */
static inline bool job_trees_want_changes(const sbr_job *job)
{
    return job->req->diff || job->req->keep;
}

#endif
