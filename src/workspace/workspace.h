/* Work directories with a name, kept between runs: $STATE/workspaces/NAME/ with `meta`, `tree`,
 * `lock`, and `pending` while a run's changes are being put into the tree.
 *
 * A run sees the tree copy-on-write; what the quota leaves bounds its changes.  When the run is
 * over, the supervisor puts the changes into the tree, by way of `pending`: an interrupted save
 * is completed the next time the workspace is opened. */
#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "changes/collected_tree.h"
#include "changes/state_dir.h"
#include "model/changes.h"
#include "model/request.h"

/* For `sh -c` in a sandbox over the workspace: stdin becomes the file that $1 names. */
#define WORKSPACE_TO_WRITE "d=$(dirname -- \"$1\") && mkdir -p -- \"$d\" && cat >\"$1\""

struct workspace_info {
    char name[WORKSPACE_MAX_NAME + 1];
    uint32_t owner; /* uid */
    uint64_t quota_bytes, quota_inodes;
    uint64_t used_bytes, used_inodes; /* blocks of 4 KiB; each name counts */
    int64_t created, used;            /* seconds */
    bool busy, damaged;
};

struct workspace {
    struct workspace_info info;
    char tree[STATE_PATH_SIZE]; /* absolute path */
    int dir_fd, tree_fd, lock_fd;
};

enum workspace_lock_result {
    WORKSPACE_BUSY, /* another run has it */
    WORKSPACE_HELD  /* it is ours until workspace_close */
};
/* With `make`, makes the workspace when there is none.  A quota of 0 keeps the present one (new:
 * the limit's default); any other is set, and must hold the present content.  Returns a
 * workspace_lock_result, or negative. */
struct workspace_quota {
    uint64_t bytes, inodes;
};
int workspace_open(const char *name, bool make, struct workspace_quota quota, struct workspace *ret,
                   sbr_error *err) must_check;
/* `staging` has the contents in its `tree`/0, and is used up. */
int workspace_save(struct workspace *workspace, struct staging *staging,
                   const struct changes *changes, sbr_error *err) must_check;
void workspace_close(struct workspace *workspace);
/* 0 when it is there, whole, and free: for a command that must not make it. */
int workspace_check(const char *name, sbr_error *err) must_check;

typedef int workspace_visit(void *context, const struct workspace_info *info);
int workspace_list(workspace_visit *visit, void *context, sbr_error *err) must_check;
/* Refuses (SBR_E_BUSY) while a run has the workspace. */
int workspace_remove(const char *name, sbr_error *err) must_check;

/* A new workspace whose content comes from outside (job/archive.h): whole or not at all. */
struct workspace_import {
    struct workspace_info info;
    struct state_dir workspaces;
    struct staging staging;
    int dir_fd;
    int tree_fd; /* the empty tree: contents go here as struct collected says */
};
/* Refuses a name that is taken.  Quotas of 0 are the limits' defaults. */
int workspace_import_begin(const char *name, struct workspace_quota quota,
                           struct workspace_import *ret, sbr_error *err) must_check;
/* Gives the contents the modes and times of the list, and puts the workspace in its place. */
int workspace_import_end(struct workspace_import *import, const struct collect_list *list,
                         sbr_error *err) must_check;
/* Removes what workspace_import_end did not put in its place. */
void workspace_import_done(struct workspace_import *import);

/* A workspace that is read with its owner's rights alone.  Directories and files whose modes
 * lock the owner out are opened until workspace_export_done.  Refuses (SBR_E_BUSY) while a run
 * has the workspace. */
struct workspace_export {
    struct workspace workspace;
    struct workspace_locked *locked;
};
int workspace_export_begin(const char *name, struct workspace_export *ret, sbr_error *err)
    must_check;
void workspace_export_done(struct workspace_export *opened);

#endif
