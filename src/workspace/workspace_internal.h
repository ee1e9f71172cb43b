/* What the parts of named workspaces share. */
#ifndef WORKSPACE_WORKSPACE_INTERNAL_H
#define WORKSPACE_WORKSPACE_INTERNAL_H

#include "base/walk.h"
#include "wire/collect.h"
#include "workspace/workspace.h"

#define WORKSPACE_META "meta"
#define WORKSPACE_TREE "tree"
#define WORKSPACE_LOCK "lock"
#define WORKSPACE_PENDING "pending"

/* Opens a directory of a workspace and follows no link; -1 with errno. */
int workspace_open_dir(int dir_fd, const char *name);

bool workspace_name_is_good(const char *name);
int workspace_check_name(const char *name, sbr_error *err) must_check;

/* 1: read; 0: missing or damaged; negative: error.  Fills everything but the name, `busy` and
 * `damaged`. */
int workspace_meta_read(int dir_fd, struct workspace_info *ret, sbr_error *err) must_check;
/* Replaces the description atomically; the caller holds the lock. */
int workspace_meta_write(int dir_fd, const struct workspace_info *info, sbr_error *err) must_check;
/* Visits everything in a tree that only we write to now, also what its mode locks its owner out
 * of. */
int workspace_walk(int tree_fd, walk_visit *visit, void *context, sbr_error *err) must_check;
/* The bytes of a file in blocks of 4 KiB without its holes; other kinds take nothing. */
uint64_t workspace_blocks(const struct walk_entry *entry);
/* Measures the use of the tree. */
int workspace_measure(int tree_fd, struct workspace_info *info, sbr_error *err) must_check;
/* Refuses when the use is more than the quota. */
int workspace_check_fits(const struct workspace_info *info, sbr_error *err) must_check;

/* A workspace_lock_result, or negative: SBR_E_NOT_FOUND when there is no such workspace.  When it
 * is held, *ret_dir_fd is the directory of that name. */
int workspace_lock(const struct state_dir *workspaces, const char *name, int *ret_dir_fd,
                   int *ret_lock_fd, sbr_error *err) must_check;

/* The error (SBR_E_BUSY) for a workspace that a run has. */
int workspace_busy(const char *name, sbr_error *err);

/* Completes the save of a supervisor that was killed. */
int workspace_finish_pending(struct workspace *workspace, sbr_error *err) must_check;

/* Opens all directories that lock their owner out, and `files` that the owner cannot read;
 * closes those again that got no other mode meanwhile. */
struct workspace_locked_node {
    char *path;
    uint32_t mode, opened;
};
struct workspace_locked {
    struct workspace_locked_node *items;
    size_t n, room;
    bool files;
};
int workspace_unlock(int tree_fd, bool files, struct workspace_locked *ret, sbr_error *err)
    must_check;
void workspace_relock(int tree_fd, struct workspace_locked *locked);

/* workspace_prepare makes a workspace with an empty tree in `staging`, workspace_place gives it
 * its name.  1: done; 0: the name is taken. */
#define WORKSPACE_NEW "new"
struct workspace_new {
    int dir_fd, tree_fd;
};
int workspace_prepare(struct staging *staging, struct workspace_new *ret, sbr_error *err)
    must_check;
int workspace_place(struct staging *staging, const struct state_dir *workspaces, const char *name,
                    sbr_error *err) must_check;

#endif
