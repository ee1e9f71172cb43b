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

#include "base/err.h"
#include "changes/collected_tree.h"
#include "changes/compare.h"
#include "changes/copy_tree.h"
#include "changes/state_dir.h"
#include "job/job_types.h"
#include "model/request.h"
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

/* Directories of ours that no program may have as a volume.
 *
 * The supervisor trusts what is in the cache, in the state and among the user's languages because
 * it belongs to its user: it runs compiled programs, applies kept changes, obeys languages.  A
 * program in a sandbox of an ordinary user has the same user.  So an `rw` volume may neither hold
 * one of these directories nor lie in one, even before the directory exists.  And no volume is the
 * directory of the engine's socket. */

/* `option` is how the user named the source, for the message. */
int own_places_check(const char *option, const char *source, enum volume_mode mode, sbr_error *err)
    must_check;

/* The directory of the user's settings; false when the environment names none. */
bool own_places_config(char *path, size_t size);

/* What a stage is planned with: limits, configuration, policy, layers, trees. */

/* Where the tools' own configuration is on the host; NULL: what they read is in an image. */
const char *stage_plan_home(const sbr_job *job);
/* The limits of a stage of the language's file: presets, which are lowered to what the machine has.
 * Those for compilers are the request's where it gives them. */
int stage_plan_limits(const sbr_request *req, const struct stage_def *def, enum stage stage,
                      struct limits *ret, sbr_error *err) must_check;
/* Limits and configuration of the current stage, into job->now. */
int stage_plan_set_up(sbr_job *job, sbr_error *err) must_check;

struct stage_input {
    struct plan_input in;
    char run_dir[REQUEST_MAX_PATH];
    char workdir[REQUEST_MAX_PATH + 1];
};
/* What the plan of one stage is made of, for this machine or one with other features.  It borrows
 * from the job. */
int stage_plan_input(sbr_job *job, enum stage stage, const struct features *features,
                     struct stage_input *ret, sbr_error *err) must_check;

/* Layers of the store: which stage makes which one, and their keys. */
enum layer_found {
    LAYER_THERE,   /* the job's layer is filled        */
    LAYER_TO_MAKE, /* or the stage makes no layer      */
    LAYER_BUSY,    /* another process makes the same one */
    LAYER_ERROR
};

enum store_kind job_layers_kind(enum layer layer);
/* Never LAYER_BUSY. */
enum layer_found job_layers_find(sbr_job *job, enum layer layer, sbr_error *err) must_check;
/* Before a stage begins.  With LAYER_TO_MAKE this job alone makes the layer. */
enum layer_found job_layers_take_turn(sbr_job *job, enum stage stage, sbr_error *err) must_check;
/* Makes a directory in the store for what the current stage leaves, if it makes a layer. */
int job_layers_open(sbr_job *job, sbr_error *err) must_check;

/* Everything that can change what a stage leaves is a part of its layer's key. */
void layer_key_prepared(sbr_job *job);
/* 1; 0: the job has no dependencies; negative: error.  Reads the configuration of the installer,
 * which is a part of the key. */
int layer_key_dependencies(sbr_job *job, sbr_error *err) must_check;
void layer_key_artifact(sbr_job *job);

/* Puts the cache of this process into memory when the failure was a full disk; NULL: it is known to
 * be full.  False: it cannot, or that was not the reason. */
bool layer_memory_begin(sbr_job *job, const sbr_error *failure);
/* The same after a stage whose layer cannot be kept.  True: the stage can be started once more;
 * else the message says which disk is full, if that is why. */
bool layer_memory_restart(sbr_job *job, sbr_error *err);

#endif
